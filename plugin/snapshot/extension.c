/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEL for programs in which some order is a race: what a line can be extended from. */
#include "snapshot/extension.h"

void tic_extension_enter(struct tic_extension *extension, const struct tic_graph *graph)
{
    if ((atomic_load(&extension->calls) & 1) != 0)
        return;
    atomic_store(&extension->entered, atomic_load(&graph->position));
    atomic_fetch_add(&extension->calls, 1);
}

void tic_extension_leave(struct tic_extension *extension)
{
    if ((atomic_load(&extension->calls) & 1) != 0)
        atomic_fetch_add(&extension->calls, 1);
}

/* Past so many waits in a row they have no position of their own. Where main() enters or leaves a
 * call meanwhile, it may be anywhere. */
uint64_t tic_extension_where(const struct tic_extension *extension, const struct tic_graph *graph)
{
    const uint64_t last_wait = (1u << TIC_WAIT_BITS) - 1;
    uint64_t calls = atomic_load(&extension->calls);
    uint64_t position = atomic_load(&graph->position);
    bool entered = atomic_load(&extension->entered) == position;
    uint64_t state = (calls & 1) != 0 ? TIC_WHERE_INSIDE : entered ? TIC_WHERE_AFTER : 0;

    if (atomic_load(&extension->calls) != calls || (position & last_wait) == last_wait ||
        (state == TIC_WHERE_INSIDE && !entered))
        state = TIC_WHERE_AFTER;
    return position << TIC_WHERE_BITS | state;
}

static bool is_inside(uint64_t where)
{
    return (where & ((1u << TIC_WHERE_BITS) - 1)) == TIC_WHERE_INSIDE;
}

/* Tasks that do not belong to the cut begin after this: they take later ticks. */
void tic_extension_before_cut(struct tic_extension *extension, const struct tic_graph *graph)
{
    extension->cut = (struct tic_line_log){
        .tick = atomic_load(&extension->on) ? atomic_load(&extension->ticks) + 1 : 0,
        .position = tic_extension_where(extension, graph),
    };
}

void tic_extension_after_cut(struct tic_extension *extension, const struct tic_graph *graph,
                             uint64_t cut)
{
    uint64_t position = extension->cut.position;

    if (!is_inside(position) || tic_extension_where(extension, graph) != position)
        extension->cut.tick = 0; /* main() may have done something meanwhile */
    extension->cut.epoch = cut;
}

bool tic_extension_wants_line(const struct tic_extension *extension, const struct tic_graph *graph,
                              const struct tic_line *newest, uint64_t committed)
{
    uint64_t now = tic_extension_where(extension, graph);

    return atomic_load(&extension->on) && is_inside(now) &&
           (newest->log.tick == 0 || newest->log.position != now ||
            atomic_load(&extension->hole) > committed);
}

void tic_extension_note_hole(struct tic_extension *extension, uint64_t epoch)
{
    uint64_t known = atomic_load(&extension->hole);

    while (known < epoch && !atomic_compare_exchange_weak(&extension->hole, &known, epoch))
        ;
}
