/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of the clock of main(), and what each of them releases in a restart: what was held back
 * until then and, at the position of the recovered cut, values and live tasks. */
#include "interpose/arrive.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/thread.h"
#include "interpose/answers.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/early.h"
#include "interpose/hold.h"
#include "interpose/later.h"
#include "interpose/looks_packed.h"
#include "interpose/position.h"
#include "interpose/restore_all.h"
#include "interpose/runner.h"
#include "interpose/shown.h"
#include "replay/replay.h"

void tic_clock_release(void)
{
    if (tic_clock_lags)
        tic_clock_catch_up();
    if (tic_early_holds())
        tic_early_release();
    tic_clock_catch_up();
}

/* ---- the recovered cut ----------------------------------------------------------------------- */

/* Tasks that are executed again, and callbacks, may use memory that they do not declare. They had
 * come that far when the line was committed; one that waits for something that main() does later is
 * not waited for. */
static void await_again(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    uint64_t patience = (uint64_t)(tic_session->snapshot.options.patience * 1e9);
    uint64_t end = tic_nanoseconds(CLOCK_MONOTONIC) + patience;

    while ((tic_position_awaits_tasks() ||
            (tic_session->graph.recovered.quiescent && tic_runner_is_busy())) &&
           tic_nanoseconds(CLOCK_MONOTONIC) < end) {
        nanosleep(&pause, NULL);
        if (tic_position_is_reading(&tic_session->store.reading)) /* they may wait for it */
            end = tic_nanoseconds(CLOCK_MONOTONIC) + patience;
    }
}

static __thread bool opens; /* main() submits the gate */

bool tic_position_holds_tasks(void)
{
    return opens || tic_position_is_ahead();
}

/* Whoever still sees main() ahead of it writes nothing any more. */
void tic_position_restore(bool (*waits)(const struct tic_handle *handle))
{
    tic_looks_packed_arrive(waits);
    tic_lock(&tic_session->submit);
    tic_data_restore_image(waits);
    tic_data_restore_elsewhere(waits);
    atomic_store(&tic_session->snapshot.replaying, false);
    tic_unlock(&tic_session->submit);
}

static void arrive(void)
{
    tic_position_restore(NULL);
    tic_lock(&tic_session->submit);
    struct starpu_task *open = tic_position_take_gate_locked();
    tic_unlock(&tic_session->submit);
    tic_clock_release(); /* callbacks of tasks that were done come before the tasks after them */
    tic_hold_release();
    if (!open)
        return;
    tic_guard++;
    opens = true;
    tic_real.starpu_task_submit(open);
    opens = false;
    tic_guard--;
}

static bool is_there(void)
{
    return tic_position_is_ahead() && !tic_replay_is_on() &&
           atomic_load(&tic_session->graph.position) >= tic_session->graph.recovered.position;
}

static void arrive_if_there(void)
{
    if (!is_there())
        return;
    tic_clock_release(); /* callbacks that had run by then saw older values */
    await_again();
    tic_shown_pause();
    arrive();
    tic_shown_resume(false);
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool tic_clock_is_late;

/* A cut that is being taken has what main() did up to its position, and nothing of what it does
 * from here on. */
static void come_to(struct tic_graph *graph, uint64_t position)
{
    atomic_store(&graph->position, position);
    while (__builtin_expect(atomic_load(&graph->cuts), 0))
        sched_yield();
}

static void step(void)
{
    struct tic_graph *graph = &tic_session->graph;
    uint64_t clock = atomic_load_explicit(&graph->clock, memory_order_relaxed) + 1;

    tic_looks_packed_compare();
    tic_answers_end(clock << TIC_WAIT_BITS);
    atomic_store(&graph->clock, clock);
    come_to(graph, clock << TIC_WAIT_BITS);
}

void tic_clock_tick(void)
{
    step();
    arrive_if_there();
}

void tic_clock_tick_late(void)
{
    step();
    tic_clock_is_late = is_there();
}

void tic_clock_arrive_late(void)
{
    tic_clock_is_late = false;
    arrive_if_there();
}

void tic_clock_wait(void)
{
    struct tic_graph *graph = &tic_session->graph;
    const uint64_t most = (1u << TIC_WAIT_BITS) - 1;

    tic_looks_packed_compare();
    uint64_t position = atomic_load(&graph->position);
    if ((position & most) < most)
        position++;
    tic_answers_end(position);
    come_to(graph, position);
    arrive_if_there();
}
