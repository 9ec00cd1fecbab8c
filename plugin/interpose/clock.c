/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of main(): its operations on tasks and data. A skipped task ends at once in a replay,
 * but its callback came later, maybe after main() had gone on: it is held back until main() has
 * come as far as it had then. So is its prologue, and a task that is not done because of its
 * prologue. main() came there without it, so this cannot block main(); nor does what it does then,
 * as it runs on a thread of its own (runner.c). */
#include <stdlib.h>

#include "base/error.h"
#include "interpose/runner.h"
#include "interpose/tasks.h"

struct held {
    uint64_t clock, key;
    bool known; /* it had run by the recovered cut */
    void (*run)(void *);
    void *argument;
    bool free_argument;
    struct starpu_task *task; /* whose callback it is; or NULL */
    bool owned;               /* StarPU has not seen the task: it goes after its callback */
};

static struct {
    struct starpu_task **items;
    unsigned long count, capacity;
} buried; /* guarded by the submission lock: tasks whose callbacks come after their ends; they stay
           */

static __thread struct starpu_task *current __attribute__((tls_model("initial-exec")));

static struct {
    struct held *items;
    unsigned long count, capacity;
} list; /* guarded by the submission lock; in the order in which main() submitted */
_Atomic uint64_t tic_clock_earliest = UINT64_MAX;

uint64_t tic_clock_now(void)
{
    return atomic_load(&tic_session->graph.clock);
}

void tic_clock_tick(void)
{
    struct tic_graph *graph = &tic_session->graph;

    atomic_store(&graph->position, (atomic_fetch_add(&graph->clock, 1) + 1) << TIC_WAIT_BITS);
    if (tic_position_is_ahead())
        tic_position_tick();
}

void tic_clock_wait(void)
{
    struct tic_graph *graph = &tic_session->graph;
    const uint64_t most = (1u << TIC_WAIT_BITS) - 1;

    if ((atomic_load(&graph->position) & most) < most)
        atomic_fetch_add(&graph->position, 1);
    if (tic_position_is_ahead())
        tic_position_tick();
}

static void hold_locked(const struct held *held)
{
    void *grown = tic_grow(list.items, &list.capacity, list.count + 1, sizeof(*list.items));

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    list.items = grown;
    list.items[list.count++] = *held;
    if (held->clock < atomic_load(&tic_clock_earliest))
        atomic_store(&tic_clock_earliest, held->clock);
}

static void note_earliest_locked(void)
{
    uint64_t next = UINT64_MAX;

    for (unsigned long i = 0; i < list.count; i++)
        next = list.items[i].clock < next ? list.items[i].clock : next;
    atomic_store(&tic_clock_earliest, next);
}

static bool is_to_wait(const struct held *held)
{
    return held->clock > tic_clock_now() || (!held->known && tic_position_is_ahead());
}

/* main() may tick meanwhile: it sees what is held, or we see its tick. */
static bool try_hold_locked(struct held *held)
{
    held->clock = tic_graph_callback_clock(&tic_session->graph, held->key, &held->known);
    if (!is_to_wait(held))
        return false;
    hold_locked(held);
    if (is_to_wait(held))
        return true;
    list.count--;
    note_earliest_locked();
    return false;
}

bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument)
{
    struct held held = {
        .key = key, .run = run, .argument = argument, .free_argument = free_argument};

    return try_hold_locked(&held);
}

/* ---- callbacks of tasks ---------------------------------------------------------------------- */

static void bury_locked(struct starpu_task *task)
{
    void *grown =
        tic_grow(buried.items, &buried.capacity, buried.count + 1, sizeof(struct starpu_task *));

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    buried.items = grown;
    buried.items[buried.count++] = task;
}

/* The callback may look at its task, whose structure StarPU would free at its end. */
static void keep_locked(struct starpu_task *task, bool owned)
{
    if (task->destroy && !owned)
        bury_locked(task);
    task->destroy = 0;
}

static struct held callback_of(struct starpu_task *task, uint64_t key, bool owned)
{
    return (struct held){.key = key,
                         .run = tic_callback_of(task),
                         .argument = task->callback_arg,
                         .task = task,
                         .owned = owned};
}

bool tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key, bool owned)
{
    struct held held = callback_of(task, key, owned);

    if (!held.run || !try_hold_locked(&held))
        return false;
    keep_locked(task, owned);
    return true;
}

struct starpu_task *tic_clock_current_task(void)
{
    return current;
}

/* The first that main() has come to. Those that had not run by the cut come when its values are
 * there. */
static bool take(struct held *held)
{
    bool ahead = tic_position_is_ahead();
    uint64_t now = tic_clock_now();
    unsigned long found = 0;

    tic_lock(&tic_session->submit);
    while (found < list.count &&
           (list.items[found].clock > now || (ahead && !list.items[found].known)))
        found++;
    bool any = found < list.count;
    if (any) {
        *held = list.items[found];
        list.count--;
        for (unsigned long i = found; i < list.count; i++)
            list.items[i] = list.items[i + 1];
    }
    note_earliest_locked();
    tic_unlock(&tic_session->submit);
    return any;
}

/* As StarPU does it on a worker. */
static void run_held(void *arg)
{
    const struct held *held = arg;

    current = held->task;
    tic_callback_begin(held->key, held->run, held->argument);
    current = NULL;
    if (held->free_argument)
        free(held->argument);
    if (held->owned)
        tic_real.starpu_task_destroy(held->task);
    free(arg);
}

static void run_apart(const struct held *held)
{
    struct held *copy = malloc(sizeof(*copy));

    if (!copy)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *copy = *held;
    tic_runner_run(run_held, copy);
}

void tic_clock_run_apart(struct starpu_task *task, uint64_t key)
{
    const struct held held = callback_of(task, key, false);

    tic_lock(&tic_session->submit);
    keep_locked(task, false);
    tic_unlock(&tic_session->submit);
    run_apart(&held);
}

void tic_clock_release(void)
{
    struct held held = {.run = NULL};

    if (tic_early_holds())
        tic_early_release();
    if (!tic_clock_is_due())
        return;
    while (take(&held))
        run_apart(&held);
}

bool tic_clock_holds(void)
{
    return atomic_load(&tic_clock_earliest) != UINT64_MAX;
}
