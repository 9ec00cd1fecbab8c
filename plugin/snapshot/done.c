/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that have ended by a cut are done in the graph. */
#include <errno.h>
#include <string.h>

#include "snapshot/snapshot.h"

static int note_done(struct tic_graph *graph, uint64_t sequence)
{
    return sequence & TIC_SPAWN_KEY
               ? tic_spawns_note_done(&graph->spawns, (uint32_t)(sequence & ~TIC_SPAWN_KEY))
               : tic_doneset_add(&graph->done, sequence);
}

/* Those that are left are tried again. */
static int merge_list(struct tic_graph *graph, struct tic_sequence_list *list)
{
    unsigned long merged = 0;
    int status = 0;

    while (merged < list->count && status == 0) {
        status = note_done(graph, list->items[merged]);
        merged += status == 0;
    }
    list->count -= merged;
    if (list->count > 0)
        memmove(list->items, list->items + merged, list->count * sizeof(*list->items));
    return status;
}

int tic_snapshot_merge_done(struct tic_snapshot *snapshot, uint64_t cut)
{
    tic_lock(&snapshot->graph->lock);
    int status = merge_list(snapshot->graph, &snapshot->results.adopted[cut & 1]);
    tic_unlock(&snapshot->graph->lock);

    for (unsigned i = 0; i < snapshot->cut.slot_count; i++) {
        int merged = merge_list(snapshot->graph, &tic_cut_slot(&snapshot->cut, i)->ended[cut & 1]);
        status = status ? status : merged;
        if (tic_cut_slot(&snapshot->cut, i)->failed) /* its lists lack something */
            status = -ENOMEM;
    }
    return status;
}
