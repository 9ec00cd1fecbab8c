/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/observe.h"

#include <time.h>

#include "base/thread.h"
#include "session/context.h"
#include "unseen/statics.h"

enum {
    CODELETS = 64,
    STEP_NS = 50 * 1000,
    IDLE_NS = 200 * 1000 * 1000, /* nothing runs: the task waits for what main() does later */
    MOST_NS = 1000 * 1000 * 1000 /* that main() is held in all */
};

static _Atomic uint64_t awaited; /* its number among main()'s tasks, and one; or 0 */

static struct {                                      /* owner thread only */
    const struct starpu_codelet *codelets[CODELETS]; /* of which a task has ended */
    unsigned count;
    const struct starpu_task *planned;
    const struct starpu_codelet *awaited;
    uint64_t held_ns;
} observed;

static bool is_known(const struct starpu_codelet *codelet)
{
    unsigned i = 0;

    while (i < observed.count && observed.codelets[i] != codelet)
        i++;
    return i < observed.count;
}

void tic_observe_plan(const struct starpu_task *task)
{
    if (observed.count < CODELETS && observed.held_ns < MOST_NS && !task->synchronous &&
        !tic_position_is_ahead() && !is_known(task->cl))
        observed.planned = task;
}

bool tic_observe_begin(const struct starpu_task *task, const void *frame)
{
    if (!tic_is_owner)
        return false;
    bool begins = observed.planned == task && tic_statics_enter(frame, true);

    observed.planned = NULL;
    if (!begins)
        return false;
    observed.awaited = task->cl;
    atomic_store(&awaited, tic_session->graph.signature.position);
    return true;
}

/* False: it has not ended, and seems not to for some time. */
static bool await_end(void)
{
    const struct timespec step = {0, STEP_NS};
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC), now = start, busy = start;
    bool ended = false;

    while (!(ended = atomic_load(&awaited) == 0) && now - busy < IDLE_NS &&
           observed.held_ns + (now - start) < MOST_NS) {
        nanosleep(&step, NULL);
        now = tic_nanoseconds(CLOCK_MONOTONIC);
        if (!tic_cut_is_idle(&tic_session->snapshot.cut))
            busy = now;
    }
    observed.held_ns += now - start;
    return ended;
}

void tic_observe_end(void)
{
    if (await_end())
        observed.codelets[observed.count++] = observed.awaited;
    atomic_store(&awaited, 0);
    tic_statics_leave(true);
}

void tic_observe_note_end(uint64_t sequence)
{
    if (atomic_load_explicit(&awaited, memory_order_relaxed) == sequence + 1)
        atomic_store(&awaited, 0);
}
