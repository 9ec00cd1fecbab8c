/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the graph a recovery line says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "store/index.h"

/* main() and workers wait for the graph lock no longer than this many handles take. */
enum { HANDLES_AT_ONCE = 256 };

/* ---- values --------------------------------------------------------------------------------- */

/* 0 and the value (TIC_NO_EXTENT: none); -EINVAL when the cut needs one that was not saved. */
static int describe_handle_locked(struct tic_handle *handle, uint64_t cut,
                                  struct tic_line_value *line)
{
    bool gone = handle->listing.gone_since != 0 && handle->listing.gone_since <= cut;
    int status = 0;

    *line = (struct tic_line_value){.id = handle->id, .extent = TIC_NO_EXTENT};
    if (gone && !handle->listing.pinned)
        return 0;
    tic_lock(&handle->saving.lock);
    const struct tic_value *value = tic_handle_value_at_locked(handle, cut);
    if (tic_handle_is_due(handle, cut))
        status = -EINVAL;
    else if (value)
        *line = (struct tic_line_value){
            .id = handle->id,
            .version = value->version,
            .checksum = value->saved.checksum,
            .extent = value->saved.row.extent,
            .row = value->saved.row.row,
            .gone = gone,
        };
    tic_unlock(&handle->saving.lock);
    return status;
}

static int index_handle_locked(struct tic_handle *handle, uint64_t cut, struct tic_index *index)
{
    struct tic_line_value value;
    int status = describe_handle_locked(handle, cut, &value);

    if (status)
        return status;
    return value.extent == TIC_NO_EXTENT ? tic_index_remove(index, handle->id)
                                         : tic_index_set(index, &value);
}

int tic_graph_index(struct tic_graph *graph, uint64_t cut, const struct tic_handle_list *handles,
                    struct tic_index *index)
{
    int status = 0;

    for (unsigned long i = 0; i < handles->count && status == 0;) {
        tic_lock(&graph->lock);
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < handles->count && status == 0; n++)
            status = index_handle_locked(handles->items[i++], cut, index);
        tic_unlock(&graph->lock);
    }
    return status;
}

static int describe_values_locked(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    size_t most = graph->handle_count + graph->recovered.value_count;
    int status = 0;

    line->values = calloc(most ? most : 1, sizeof(*line->values));
    if (!line->values)
        return -ENOMEM;
    for (unsigned long i = 0; i < graph->handle_count && status == 0; i++) {
        struct tic_line_value *value = &line->values[line->value_count];
        status = describe_handle_locked(graph->handles[i], cut, value);
        line->value_count += status == 0 && value->extent != TIC_NO_EXTENT;
    }
    for (size_t i = 0; i < graph->recovered.value_count; i++)
        if (!graph->recovered.claimed[i])
            line->values[line->value_count++] = graph->recovered.values[i];
    tic_sort(line->values, line->value_count, tic_line_by_number);
    return status;
}

int tic_graph_describe_values(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    tic_lock(&graph->lock);
    int status = describe_values_locked(graph, cut, line);
    tic_unlock(&graph->lock);
    return status;
}

/* ---- everything else ------------------------------------------------------------------------ */

static int describe_signatures(struct tic_graph *graph, struct tic_line *line)
{
    uint64_t count = tic_signature_count(&graph->signature), first = graph->signature.in_blocks;

    line->signature_count = count - first;
    line->signatures = calloc(line->signature_count + 1, sizeof(*line->signatures));
    if (!line->signatures)
        return -ENOMEM;
    for (uint64_t i = first; i < count; i++)
        line->signatures[i - first] = tic_signature_entry(&graph->signature, i);
    line->tasks_submitted = count;
    line->arguments_compared = graph->signature.compares;
    line->on.words_mixed = graph->signature.mixed;
    return 0;
}

static int describe_tails_locked(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    int status = tic_tail_describe(&graph->reads, cut, line);
    status = status ? status : tic_tail_describe(&graph->looks, cut, line);
    status = status ? status : tic_history_describe(&graph->history, cut, line);
    status = status ? status : tic_tail_describe(&graph->inputs, cut, line);
    status = status ? status : tic_tail_describe(&graph->events, cut, line);
    return status ? status : tic_tail_describe(&graph->acquires, cut, line);
}

int tic_graph_describe(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    /* More of them than submissions before the cut is harmless, fewer is not; and none without the
     * events before it. */
    int status = describe_signatures(graph, line);
    tic_lock(&graph->lock);
    status = status ? status : describe_tails_locked(graph, cut, line);
    tic_unlock(&graph->lock);
    status = status ? status : tic_spawns_describe(&graph->spawns, cut, line);
    status = status ? status : tic_doneset_ranges(&graph->done, &line->done, &line->done_count);
    line->tasks_done = graph->done.count + tic_tail_total(&graph->spawns.done) + line->kept_done;
    return status;
}

void tic_graph_drop_tail(struct tic_graph *graph, uint32_t number, size_t count)
{
    struct tic_tail *tails[] = {&graph->inputs, &graph->events, &graph->acquires,
                                &graph->reads,  &graph->looks,  &graph->history.tail};

    if (number == TIC_TABLE_SIGNATURES)
        graph->signature.in_blocks += count;
    tic_spawns_drop_tail(&graph->spawns, number, count);
    tic_lock(&graph->lock);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
        if (tails[i]->number == number)
            tic_tail_drop(tails[i], count);
    tic_unlock(&graph->lock);
}
