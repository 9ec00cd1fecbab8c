/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/merge.h"

#include <string.h>

static int note_done(struct tic_graph *graph, uint64_t sequence)
{
    return sequence & TIC_SPAWN_KEY
               ? tic_spawns_note_done(&graph->spawns, (uint32_t)(sequence & ~TIC_SPAWN_KEY))
               : tic_doneset_add(&graph->done, sequence);
}

int tic_merge_done(struct tic_graph *graph, struct tic_sequence_list *list)
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
