/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of the clock of main(); and the values that come back at the recovered cut. */
#include "interpose/arrive.h"

#include <sched.h>
#include <stdatomic.h>

#include "interpose/answers.h"
#include "session/context.h"
#include "interpose/looks_packed.h"
#include "interpose/restore_all.h"

/* Whoever still sees main() ahead of it writes nothing any more. */
void tic_position_restore(bool (*waits)(const struct tic_handle *handle))
{
    tic_looks_packed_arrive(waits);
    tic_lock(&tic_session->submit);
    tic_data_restore_image(waits);
    tic_data_restore_elsewhere(waits);
    if (!waits)
        atomic_store(&tic_session->snapshot.replaying, false);
    tic_unlock(&tic_session->submit);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A cut that is being taken has what main() did up to its position, and nothing of what it does
 * from here on. */
static void come_to(struct tic_graph *graph, uint64_t position)
{
    atomic_store(&graph->position, position);
    while (__builtin_expect(atomic_load(&graph->cuts), 0))
        sched_yield();
}

void tic_clock_tick(void)
{
    struct tic_graph *graph = &tic_session->graph;
    uint64_t clock = atomic_load_explicit(&graph->clock, memory_order_relaxed) + 1;

    tic_looks_packed_compare();
    tic_answers_end(clock << TIC_WAIT_BITS);
    atomic_store(&graph->clock, clock);
    come_to(graph, clock << TIC_WAIT_BITS);
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
}
