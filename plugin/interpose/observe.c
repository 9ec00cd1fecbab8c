/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/observe.h"

#include <time.h>

#include "base/thread.h"
#include "interpose/clock.h"
#include "interpose/context.h"
#include "interpose/statics.h"

enum {
    CODELETS = 64,
    STEP_NS = 50 * 1000,
    IDLE_STEPS = 100, /* after which the task seems to wait for something that main() does later */
    MOST_NS = 1000 * 1000 * 1000 /* that main() is held in all */
};

_Atomic uint64_t tic_observe_awaited;

static struct { /* owner thread only */
    const struct starpu_codelet *codelets[CODELETS];
    unsigned count;
    const struct starpu_task *planned;
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

bool tic_observe_begin(const struct starpu_task *task)
{
    bool begins = observed.planned == task && tic_statics_enter_observation();

    observed.planned = NULL;
    if (!begins)
        return false;
    observed.codelets[observed.count++] = task->cl;
    atomic_store(&tic_observe_awaited, tic_session->graph.signature.position);
    return true;
}

void tic_observe_end(void)
{
    const struct timespec step = {0, STEP_NS};
    const struct tic_cut *cut = &tic_session->snapshot.cut;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC), held = 0;
    unsigned idle = 0;

    while (atomic_load(&tic_observe_awaited) != 0 && idle < IDLE_STEPS &&
           observed.held_ns + held < MOST_NS) {
        nanosleep(&step, NULL);
        idle = tic_cut_is_idle(cut) ? idle + 1 : 0;
        held = tic_nanoseconds(CLOCK_MONOTONIC) - start;
    }
    atomic_store(&tic_observe_awaited, 0);
    observed.held_ns += held;
    tic_statics_leave_observation();
}
