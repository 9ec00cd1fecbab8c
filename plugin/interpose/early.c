/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that kernels submit early. A restart skips what is done, so a kernel that waited for it may
 * run, and submit tasks, before main() has come as far as it had when that kernel ran: what main()
 * submitted before them would then come after them. They are held back, like callbacks (later.c),
 * until main() has come to where they were submitted before or, if they were not by then, to the
 * recovered cut. The kernel was not over then, or it is one that is executed again: main() came
 * there without them. */
#include "interpose/early.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interpose/admit.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/deliver.h"
#include "interpose/spawn.h"
#include "session/task.h"
#include "real/real.h"
#include "replay/replay.h"

struct early {
    struct starpu_task *task;
    struct tic_spawn spawn;
    uint64_t clock; /* of main(), until then; tasks of one kernel: ascending */
};

static struct {
    struct early *items;
    unsigned long count, capacity;
} list; /* guarded by the submission lock; in the order in which kernels submitted */
static _Atomic unsigned long pending; /* held back and not submitted yet; raised under that lock */
_Atomic uint64_t tic_early_next = UINT64_MAX;

/* Who submits what was held back holds it: what a kernel submits next comes after that. Taken
 * before the submission lock. */
static pthread_mutex_t releasing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Those that main() has come to, in their order; the others stay. */
static struct early *take(unsigned long *count)
{
    uint64_t next = UINT64_MAX, now;
    unsigned long kept = 0;

    tic_lock(&tic_session->submit);
    struct early *due = malloc((list.count + 1) * sizeof(*due));
    if (!due)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    now = tic_clock_now();
    *count = 0;
    for (unsigned long i = 0; i < list.count; i++) {
        struct early early = list.items[i];
        if (early.clock <= now) {
            due[(*count)++] = early;
            continue;
        }
        list.items[kept++] = early;
        next = early.clock < next ? early.clock : next;
    }
    list.count = kept;
    atomic_store(&tic_early_next, next);
    tic_unlock(&tic_session->submit);
    return due;
}

static void submit(const struct early *early)
{
    const char *why =
        early->spawn.kept ? tic_spawn_why_out_of_order(early->task, &early->spawn) : NULL;

    if (why)
        tic_snapshot_break(&tic_session->snapshot, "%s: %s", tic_task_name(early->task), why);
    if (!tic_submit_spawned(early->task, &early->spawn))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    tic_guard++;
    int status = tic_real.starpu_task_submit(early->task);
    tic_guard--;
    tic_reads_after_submit(status == 0);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot submit a task that was held back: %s",
                 strerror(-status));
}

/* main() may come further meanwhile, on another thread or in a submission. */
void tic_early_release(void)
{
    unsigned long count;

    pthread_mutex_lock(&releasing);
    do {
        struct early *due = take(&count);
        for (unsigned long i = 0; i < count; i++) {
            submit(&due[i]);
            atomic_fetch_sub(&pending, 1);
        }
        free(due);
    } while (count > 0);
    pthread_mutex_unlock(&releasing);
}

bool tic_early_holds(void)
{
    return atomic_load(&pending) > 0;
}

/* What the line knows of a kernel that began after the cut tells nothing: it knows some of its
 * tasks, and none of those that came after them. */
static uint64_t clock_of(const struct tic_spawn *spawn)
{
    struct tic_graph *graph = &tic_session->graph;
    uint64_t clock, rank;

    if (!tic_graph_find_callback(graph, spawn->task.id ^ TIC_SPAWN_SUBMITTED, &clock, &rank))
        tic_graph_find_callback(graph, spawn->task.id, &clock, &rank); /* of an older version */
    return clock < graph->recovered.clock ? clock : graph->recovered.clock;
}

bool tic_early_hold_locked(struct starpu_task *task, const struct tic_spawn *spawn)
{
    if (!tic_session->recovered || tic_replay_is_on()) /* which queues it */
        return false;
    uint64_t clock = clock_of(spawn);
    if (clock <= tic_clock_now() && atomic_load(&pending) == 0)
        return false;
    void *grown = tic_grow(list.items, &list.capacity, list.count + 1, sizeof(*list.items));
    /* Lines taken meanwhile, in which its parent is done, need it. */
    if (!grown || (spawn->kept && !tic_snapshot_is_broken(&tic_session->snapshot) &&
                   !tic_admit_register(task, spawn)))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    list.items = grown;
    list.items[list.count++] = (struct early){task, *spawn, clock};
    atomic_fetch_add(&pending, 1);
    if (clock < atomic_load(&tic_early_next))
        atomic_store(&tic_early_next, clock);
    return true;
}
