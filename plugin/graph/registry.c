/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* G_i: the registry of handles, and all that a recovery line tells. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/tables.h"

int tic_graph_init(struct tic_graph *graph)
{
    memset(graph, 0, sizeof(*graph));
    tic_lock_init(&graph->lock, TIC_RANK_GRAPH);
    tic_doneset_init(&graph->done);
    tic_doneset_init(&graph->recovered.done);
    tic_tail_init(&graph->inputs, TIC_TABLE_INPUTS);
    tic_tail_init(&graph->events, TIC_TABLE_EVENTS);
    tic_tail_init(&graph->acquires, TIC_TABLE_ACQUIRES);
    tic_tail_init(&graph->reads, TIC_TABLE_READS);
    tic_tail_init(&graph->looks, TIC_TABLE_LOOKS);
    tic_history_init(&graph->history);
    int status = tic_spawns_init(&graph->spawns);
    return status ? status : tic_signature_init(&graph->signature);
}

void tic_graph_fini(struct tic_graph *graph)
{
    for (unsigned long i = 0; i < graph->handle_count; i++)
        tic_handle_destroy(graph->handles[i]);
    free(graph->handles);
    free(graph->changed.items);
    free(graph->gone.items);
    tic_tail_fini(&graph->inputs);
    tic_tail_fini(&graph->events);
    tic_tail_fini(&graph->acquires);
    tic_tail_fini(&graph->reads);
    tic_tail_fini(&graph->looks);
    tic_history_fini(&graph->history);
    free(graph->recovered.looks);
    free(graph->recovered.looked);
    free(graph->recovered.events);
    free(graph->recovered.acquires);
    free(graph->recovered.reads);
    free(graph->recovered.main_writes);
    free(graph->recovered.values);
    free(graph->recovered.claimed);
    free(graph->recovered.inputs);
    tic_signature_fini(&graph->signature);
    tic_spawns_fini(&graph->spawns);
    tic_doneset_fini(&graph->done);
    tic_doneset_fini(&graph->recovered.done);
    tic_lock_fini(&graph->lock);
}

/* ---- what an earlier run left --------------------------------------------------------------- */

/* How many writes by main() the recovered cut holds for a handle. */
static uint64_t count_main_writes(const struct tic_graph *graph, uint64_t id)
{
    const uint64_t *writes = graph->recovered.main_writes;
    const size_t count = graph->recovered.main_write_count;

    return tic_first_from(id + 1, writes, count) - tic_first_from(id, writes, count);
}

static int load_signatures(struct tic_graph *graph, const struct tic_line *line)
{
    int status = 0;

    for (size_t i = 0; i < line->signature_count && status == 0; i++)
        status = tic_signature_load(&graph->signature, line->signatures[i]);
    graph->signature.in_blocks = tic_table_in_blocks(line, TIC_TABLE_SIGNATURES);
    graph->signature.compares = line->arguments_compared != 0;
    graph->signature.mixed = line->on.words_mixed || (line->on.pointer_bytes != 0 &&
                                                      line->on.pointer_bytes != sizeof(void *));
    return status;
}

static int load_done(struct tic_graph *graph, const struct tic_line *line)
{
    int status = 0;
    for (size_t i = 0; i < line->done_count && status == 0; i++) {
        status = tic_doneset_add_range(&graph->done, line->done[i]);
        status = status ? status : tic_doneset_add_range(&graph->recovered.done, line->done[i]);
    }
    return status;
}

int tic_graph_load(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered.values =
        tic_graph_duplicate(line->values, line->value_count, sizeof(*graph->recovered.values));
    graph->recovered.claimed = calloc(line->value_count ? line->value_count : 1, sizeof(bool));
    if (!graph->recovered.values || !graph->recovered.claimed)
        return -ENOMEM;
    graph->recovered.value_count = line->value_count;
    graph->recovered.tasks = line->tasks_done;
    graph->recovered.workers = line->workers;
    graph->recovered.point = line->point;
    int status = tic_graph_load_tables(graph, line);
    status = status ? status : tic_graph_load_events(graph, line);
    status = status ? status : load_signatures(graph, line);
    status = status ? status : tic_spawns_load(&graph->spawns, line);
    /* Up to the first commit point all tasks are executed. */
    return status || line->point.number ? status : load_done(graph, line);
}

struct tic_line_value *tic_graph_find_value(const struct tic_graph *graph, uint64_t id)
{
    return tic_find(&id, graph->recovered.values, graph->recovered.value_count, tic_line_by_number);
}

static void claim_recovered_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    struct tic_line_value *found = tic_graph_find_value(graph, handle->id);

    if (!found || graph->recovered.point.number != 0)
        return;
    graph->recovered.claimed[found - graph->recovered.values] = true;
    handle->saving.current = (struct tic_value){
        .exists = true,
        .version = found->version,
        .saved = {.row = {found->extent, found->row}, .checksum = found->checksum},
    };
    atomic_store(&handle->saving.version, found->version);
    handle->restart.pending = true;
    if (found->gone) /* it is back */
        tic_graph_note_changed_locked(graph, handle);
}

/* ---- handles -------------------------------------------------------------------------------- */

struct tic_handle *tic_graph_add_handle(struct tic_graph *graph)
{
    struct tic_handle *handle = tic_handle_create(graph->next_handle);
    if (!handle)
        return NULL;
    tic_lock(&graph->lock);
    int status = tic_append(graph->handles, graph->handle_count, graph->handle_capacity, &handle);
    if (status == 0) {
        handle->listing.index = graph->handle_count - 1;
        atomic_fetch_add_explicit(&graph->registered, 1, memory_order_relaxed);
        claim_recovered_locked(graph, handle);
    }
    tic_unlock(&graph->lock);
    if (status) {
        tic_handle_destroy(handle);
        return NULL;
    }
    graph->next_handle++;
    handle->restart.main_writes_left = count_main_writes(graph, handle->id);
    return handle;
}

struct tic_handle *tic_graph_find_handle(struct tic_graph *graph, uint64_t id)
{
    struct tic_handle *found = NULL;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && !found; i++)
        if (graph->handles[i]->id == id)
            found = graph->handles[i];
    tic_unlock(&graph->lock);
    return found;
}

bool tic_graph_note_changed_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    /* acq_rel: see tic_cut_write */
    return atomic_exchange_explicit(&handle->saving.listed, true, memory_order_acq_rel) ||
           tic_handle_append(&graph->changed, handle);
}

bool tic_graph_note_changed(struct tic_graph *graph, struct tic_handle *handle)
{
    tic_lock(&graph->lock);
    bool fine = tic_graph_note_changed_locked(graph, handle);
    tic_unlock(&graph->lock);
    return fine;
}

bool tic_graph_leave_locked(struct tic_graph *graph, struct tic_handle *handle, uint64_t epoch)
{
    bool fine = handle->listing.gone_since != 0 || tic_handle_append(&graph->gone, handle);

    handle->listing.gone_since = epoch;
    tic_freed_forget_data(handle, handle->layout.base);
    return tic_graph_note_changed_locked(graph, handle) && fine;
}

static void destroy_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    struct tic_handle *last = graph->handles[--graph->handle_count];

    graph->handles[handle->listing.index] = last;
    last->listing.index = handle->listing.index;
    tic_handle_destroy(handle);
}

void tic_graph_reclaim(struct tic_graph *graph, uint64_t cut)
{
    struct tic_handle_list *gone = &graph->gone;
    unsigned long left = 0;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < gone->count; i++) {
        struct tic_handle *handle = gone->items[i];
        if (handle->listing.pinned && !handle->listing.leaving)
            continue; /* it stays for ever */
        if (handle->listing.gone_since > cut || handle->listing.leaving ||
            atomic_load(&handle->saving.listed))
            gone->items[left++] = handle;
        else
            destroy_locked(graph, handle);
    }
    gone->count = left;
    tic_unlock(&graph->lock);
}
