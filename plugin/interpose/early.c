/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that kernels submit early. A restart skips what is done, so a kernel that waited for it may
 * run, and submit tasks, before main() has come as far as it had when that kernel ran: what main()
 * submitted before them would then come after them. They are held back, like callbacks (clock.c),
 * until main() has come to where they were submitted before or, if they were not, to the recovered
 * cut. The kernel was not over then, so main() does not wait for them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interpose/tasks.h"

struct early {
    struct starpu_task *task;
    struct tic_spawn spawn;
};

static void submit(struct starpu_task *task)
{
    tic_guard++;
    int status = tic_real.starpu_task_submit(task);
    tic_guard--;
    tic_reads_after_submit(status == 0);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot submit a task that was held back: %s",
                 strerror(-status));
}

/* main() has come far enough. On its thread. */
static void release(void *arg)
{
    struct early early = *(struct early *)arg;
    const char *why =
        early.spawn.kept ? tic_spawn_why_out_of_order(early.task, &early.spawn) : NULL;

    free(arg);
    if (why)
        tic_snapshot_break(&tic_session->snapshot, "%s: %s", tic_task_name(early.task), why);
    if (!tic_submit_spawned(early.task, &early.spawn))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    submit(early.task);
}

bool tic_early_hold_locked(struct starpu_task *task, const struct tic_spawn *spawn)
{
    if (!tic_session->recovered || tic_clock_now() >= tic_session->graph.recovered_clock)
        return false;
    struct early *early = malloc(sizeof(*early));
    if (!early)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *early = (struct early){task, *spawn};
    /* Lines taken meanwhile, in which its parent is done, need it. */
    if (spawn->kept && !tic_snapshot_is_broken(&tic_session->snapshot) &&
        !tic_spawn_register(task, spawn))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    if (tic_clock_hold_locked(spawn->task.id, release, early, false))
        return true;
    free(early);
    return false;
}

/* Only what main() may have submitted since tells one moment from another. */
void tic_early_note_locked(const struct tic_spawn *spawn)
{
    struct tic_session *session = tic_session;

    if ((session->graph.signature.position > spawn->seen ||
         tic_clock_now() != session->submission_clock) &&
        tic_graph_note_callback(&session->graph, spawn->task.id) != 0)
        tic_snapshot_break(&session->snapshot, "out of memory");
}
