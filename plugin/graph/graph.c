/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* G_i: the registry of handles, done tasks, signatures, inputs and events. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int tic_graph_init(struct tic_graph *graph)
{
    memset(graph, 0, sizeof(*graph));
    tic_lock_init(&graph->lock, TIC_RANK_GRAPH);
    tic_doneset_init(&graph->done);
    tic_doneset_init(&graph->recovered_done);
    int status = tic_spawns_init(&graph->spawns);
    return status ? status : tic_signature_init(&graph->signature);
}

void tic_graph_fini(struct tic_graph *graph)
{
    for (unsigned long i = 0; i < graph->handle_count; i++)
        tic_handle_destroy(graph->handles[i]);
    free(graph->handles);
    free(graph->inputs);
    free(graph->events);
    free(graph->acquires);
    free(graph->acquire_epochs);
    free(graph->reads);
    free(graph->callbacks);
    free(graph->recovered_main_writes);
    free(graph->recovered_values);
    free(graph->recovered_claimed);
    free(graph->recovered_inputs);
    tic_signature_fini(&graph->signature);
    tic_spawns_fini(&graph->spawns);
    tic_doneset_fini(&graph->done);
    tic_doneset_fini(&graph->recovered_done);
    tic_lock_fini(&graph->lock);
}

/* ---- what an earlier run left --------------------------------------------------------------- */

static void *duplicate(const void *array, size_t count, size_t item)
{
    void *copy = malloc(count ? count * item : 1);
    if (copy && count)
        memcpy(copy, array, count * item);
    return copy;
}

static int by_input_id(const void *a, const void *b)
{
    uint64_t x = ((const struct tic_line_input *)a)->id, y = ((const struct tic_line_input *)b)->id;
    return x < y ? -1 : x > y;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int load_acquires(struct tic_graph *graph, const struct tic_line *line)
{
    size_t count = line->acquire_count;

    graph->acquires = duplicate(line->acquires, count, sizeof(*graph->acquires));
    graph->acquire_epochs = calloc(count ? count : 1, sizeof(uint64_t));
    graph->recovered_main_writes = calloc(count ? count : 1, sizeof(uint64_t));
    if (!graph->acquires || !graph->acquire_epochs || !graph->recovered_main_writes)
        return -ENOMEM;
    graph->acquire_count = graph->acquire_capacity = graph->epoch_capacity = count;
    graph->recovered_acquire_count = count;
    for (size_t i = 0; i < count; i++)
        if (line->acquires[i].writes == 1)
            graph->recovered_main_writes[graph->recovered_main_write_count++] =
                line->acquires[i].id;
    if (count > 0)
        qsort(graph->recovered_main_writes, graph->recovered_main_write_count, sizeof(uint64_t),
              by_number);
    return 0;
}

/* How many writes by main() the recovered cut holds for a handle. */
static uint64_t count_main_writes(const struct tic_graph *graph, uint64_t id)
{
    size_t low = 0, high = graph->recovered_main_write_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (graph->recovered_main_writes[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    size_t first = low;
    while (low < graph->recovered_main_write_count && graph->recovered_main_writes[low] == id)
        low++;
    return low - first;
}

static int load_reads(struct tic_graph *graph, const struct tic_line *line)
{
    graph->reads = calloc(line->read_count + 1, sizeof(*graph->reads));
    if (!graph->reads)
        return -ENOMEM;
    graph->read_count = graph->recovered_read_count = line->read_count;
    graph->read_capacity = line->read_count + 1;
    for (size_t i = 0; i < line->read_count; i++)
        graph->reads[i].read = line->reads[i];
    return 0;
}

static int load_callbacks(struct tic_graph *graph, const struct tic_line *line)
{
    graph->callbacks = duplicate(line->callbacks, line->callback_count, sizeof(*line->callbacks));
    if (!graph->callbacks)
        return -ENOMEM;
    graph->callback_count = graph->callback_capacity = line->callback_count;
    graph->recovered_callback_count = line->callback_count;
    graph->recovered_clock = line->clock;
    return 0;
}

static int load_done(struct tic_graph *graph, const struct tic_line *line)
{
    int status = 0;
    for (size_t i = 0; i < line->done_count && status == 0; i++) {
        status = tic_doneset_add_range(&graph->done, line->done[i]);
        status = status ? status : tic_doneset_add_range(&graph->recovered_done, line->done[i]);
    }
    return status;
}

int tic_graph_load(struct tic_graph *graph, const struct tic_line *line)
{
    graph->recovered_values =
        duplicate(line->values, line->value_count, sizeof(*graph->recovered_values));
    graph->recovered_claimed = calloc(line->value_count ? line->value_count : 1, sizeof(bool));
    graph->inputs = duplicate(line->inputs, line->input_count, sizeof(*graph->inputs));
    graph->recovered_inputs = duplicate(line->inputs, line->input_count, sizeof(*graph->inputs));
    graph->events = duplicate(line->events, line->event_count, sizeof(*graph->events));
    if (!graph->recovered_values || !graph->recovered_claimed || !graph->inputs ||
        !graph->recovered_inputs || !graph->events)
        return -ENOMEM;
    graph->recovered_value_count = line->value_count;
    graph->recovered_tasks = line->tasks_done;
    graph->input_count = graph->input_capacity = line->input_count;
    graph->recovered_input_count = line->input_count;
    graph->event_count = graph->event_capacity = line->event_count;
    qsort(graph->recovered_inputs, line->input_count, sizeof(*graph->recovered_inputs),
          by_input_id);
    int status = load_acquires(graph, line);
    status = status ? status : load_reads(graph, line);
    status = status ? status : load_callbacks(graph, line);
    status = status ? status : tic_spawns_load(&graph->spawns, line);
    return status ? status : load_done(graph, line);
}

int tic_graph_load_signatures(struct tic_graph *graph, const uint32_t *entries, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = tic_signature_load(&graph->signature, entries[i]);
    return status;
}

static int value_by_id(const void *key, const void *entry)
{
    uint64_t id = *(const uint64_t *)key, other = ((const struct tic_line_value *)entry)->id;
    return id < other ? -1 : id > other;
}

static void claim_recovered_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    if (graph->recovered_value_count == 0)
        return;
    struct tic_line_value *found =
        bsearch(&handle->id, graph->recovered_values, graph->recovered_value_count, sizeof(*found),
                value_by_id);
    if (!found)
        return;
    graph->recovered_claimed[found - graph->recovered_values] = true;
    handle->current = (struct tic_value){
        .exists = true,
        .version = found->version,
        .saved = {.row = {found->extent, found->row}, .checksum = found->checksum},
    };
    atomic_store(&handle->version, found->version);
    handle->pending = true;
}

/* ---- handles -------------------------------------------------------------------------------- */

struct tic_handle *tic_graph_add_handle(struct tic_graph *graph)
{
    struct tic_handle *handle = tic_handle_create(graph->next_handle);
    if (!handle)
        return NULL;
    tic_lock(&graph->lock);
    void *grown = tic_grow(graph->handles, &graph->handle_capacity, graph->handle_count + 1,
                           sizeof(*graph->handles));
    if (grown) {
        graph->handles = grown;
        handle->index = graph->handle_count;
        graph->handles[graph->handle_count++] = handle;
        claim_recovered_locked(graph, handle);
    }
    tic_unlock(&graph->lock);
    if (!grown) {
        tic_handle_destroy(handle);
        return NULL;
    }
    graph->next_handle++;
    handle->main_writes_left = count_main_writes(graph, handle->id);
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

void tic_graph_reclaim(struct tic_graph *graph, uint64_t cut)
{
    tic_lock(&graph->lock);
    for (unsigned long i = graph->handle_count; i-- > 0;) {
        struct tic_handle *handle = graph->handles[i];
        if (handle->gone_since == 0 || handle->gone_since > cut || handle->pinned ||
            handle->leaving || atomic_load(&handle->listed))
            continue;
        struct tic_handle *last = graph->handles[--graph->handle_count];
        graph->handles[i] = last;
        last->index = i;
        tic_handle_destroy(handle);
    }
    tic_unlock(&graph->lock);
}

/* ---- inputs and events ---------------------------------------------------------------------- */

int tic_graph_note_input(struct tic_graph *graph, uint64_t id, uint64_t hash)
{
    struct tic_line_input entry = {id, hash};
    struct tic_line_input *known =
        graph->recovered_input_count == 0
            ? NULL
            : bsearch(&entry, graph->recovered_inputs, graph->recovered_input_count, sizeof(entry),
                      by_input_id);
    if (known)
        return known->hash == hash ? 0 : -EILSEQ;
    tic_lock(&graph->lock);
    void *grown = tic_grow(graph->inputs, &graph->input_capacity, graph->input_count + 1,
                           sizeof(*graph->inputs));
    if (grown) {
        graph->inputs = grown;
        graph->inputs[graph->input_count++] = entry;
    }
    tic_unlock(&graph->lock);
    return grown ? 0 : -ENOMEM;
}

int tic_graph_event(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    int status = 0;
    tic_lock(&graph->lock);
    if (graph->next_event < graph->event_count) {
        const struct tic_line_event *event = &graph->events[graph->next_event++];
        status = event->kind == (uint32_t)kind ? 0 : -EILSEQ;
        *value = event->value;
    } else {
        void *grown = tic_grow(graph->events, &graph->event_capacity, graph->event_count + 1,
                               sizeof(*graph->events));
        status = grown ? 0 : -ENOMEM;
        if (grown) {
            graph->events = grown;
            graph->events[graph->event_count++] = (struct tic_line_event){kind, *value};
            graph->next_event++;
        }
    }
    tic_unlock(&graph->lock);
    return status;
}

bool tic_graph_expects(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    bool found = false;

    tic_lock(&graph->lock);
    for (uint64_t i = graph->next_event; i < graph->event_count && !found; i++) {
        found = graph->events[i].kind == (uint32_t)kind;
        *value = graph->events[i].value;
    }
    tic_unlock(&graph->lock);
    return found;
}

const struct tic_line_acquire *tic_graph_replay_acquire(struct tic_graph *graph)
{
    return graph->next_acquire < graph->recovered_acquire_count
               ? &graph->acquires[graph->next_acquire++]
               : NULL;
}

bool tic_graph_expects_unpartition(const struct tic_graph *graph, uint64_t id)
{
    for (size_t i = graph->next_acquire; i < graph->recovered_acquire_count; i++)
        if (graph->acquires[i].id == id && graph->acquires[i].writes == TIC_ACQUIRE_UNPARTITION)
            return true;
    return false;
}

int tic_graph_note_acquire_locked(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                                  uint64_t epoch)
{
    void *grown = tic_grow(graph->acquires, &graph->acquire_capacity, graph->acquire_count + 1,
                           sizeof(*graph->acquires));
    if (grown)
        graph->acquires = grown;
    void *epochs = !grown ? NULL
                          : tic_grow(graph->acquire_epochs, &graph->epoch_capacity,
                                     graph->acquire_count + 1, sizeof(uint64_t));
    if (epochs) {
        graph->acquire_epochs = epochs;
        graph->acquire_epochs[graph->acquire_count] = epoch;
        graph->acquires[graph->acquire_count++] = *acquire;
    }
    return epochs ? 0 : -ENOMEM;
}

int tic_graph_note_acquire(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                           uint64_t epoch)
{
    tic_lock(&graph->lock);
    int status = tic_graph_note_acquire_locked(graph, acquire, epoch);
    tic_unlock(&graph->lock);
    return status;
}

static int by_task(const void *a, const void *b)
{
    const struct tic_line_read *x = a, *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

bool tic_graph_find_read(struct tic_graph *graph, uint64_t task, uint32_t buffer,
                         struct tic_line_read *read)
{
    struct tic_graph_read key = {.read = {.task = task, .buffer = buffer}}, *found = NULL;

    if (graph->recovered_read_count == 0)
        return false;
    tic_lock(&graph->lock); /* the array may move */
    found = bsearch(&key, graph->reads, graph->recovered_read_count, sizeof(key), by_task);
    if (found)
        *read = found->read;
    tic_unlock(&graph->lock);
    return found != NULL;
}

int tic_graph_note_read(struct tic_graph *graph, const struct tic_line_read *read, uint64_t epoch)
{
    struct tic_graph_read entry = {*read, epoch};

    tic_lock(&graph->lock);
    bool known = graph->recovered_read_count > 0 &&
                 bsearch(&entry, graph->reads, graph->recovered_read_count, sizeof(entry), by_task);
    void *grown = known ? graph->reads
                        : tic_grow(graph->reads, &graph->read_capacity, graph->read_count + 1,
                                   sizeof(*graph->reads));
    if (grown && !known) {
        graph->reads = grown;
        graph->reads[graph->read_count++] = entry;
    }
    tic_unlock(&graph->lock);
    return grown ? 0 : -ENOMEM;
}

static int by_callback_task(const void *a, const void *b)
{
    uint64_t x = ((const struct tic_line_callback *)a)->task;
    uint64_t y = ((const struct tic_line_callback *)b)->task;
    return x < y ? -1 : x > y;
}

int tic_graph_note_callback(struct tic_graph *graph, uint64_t task)
{
    struct tic_line_callback entry = {task, atomic_load(&graph->clock)};

    tic_lock(&graph->lock);
    bool known = graph->recovered_callback_count > 0 &&
                 bsearch(&entry, graph->callbacks, graph->recovered_callback_count, sizeof(entry),
                         by_callback_task);
    void *grown = known ? graph->callbacks
                        : tic_grow(graph->callbacks, &graph->callback_capacity,
                                   graph->callback_count + 1, sizeof(entry));
    if (grown && !known) {
        graph->callbacks = grown;
        graph->callbacks[graph->callback_count++] = entry;
    }
    tic_unlock(&graph->lock);
    return grown ? 0 : -ENOMEM;
}

uint64_t tic_graph_callback_clock(struct tic_graph *graph, uint64_t task)
{
    struct tic_line_callback key = {.task = task}, *found = NULL;
    uint64_t clock = graph->recovered_clock; /* it had not run by then */

    tic_lock(&graph->lock); /* the array may move */
    if (graph->recovered_callback_count > 0)
        found = bsearch(&key, graph->callbacks, graph->recovered_callback_count, sizeof(key),
                        by_callback_task);
    if (found)
        clock = found->clock;
    tic_unlock(&graph->lock);
    return clock;
}

/* ---- describing a cut ----------------------------------------------------------------------- */

static int by_value_id(const void *a, const void *b)
{
    uint64_t x = ((const struct tic_line_value *)a)->id, y = ((const struct tic_line_value *)b)->id;
    return x < y ? -1 : x > y;
}

/* -EINVAL when the cut needs a value that was not saved. */
static int describe_handle(struct tic_handle *handle, uint64_t cut, struct tic_line *line)
{
    bool gone = handle->gone_since != 0 && handle->gone_since <= cut;
    int status = 0;

    if (gone && !handle->pinned)
        return 0;
    tic_lock(&handle->lock);
    const struct tic_value *value = tic_handle_value_at_locked(handle, cut);
    if (tic_handle_is_due(handle, cut))
        status = -EINVAL;
    else if (value)
        line->values[line->value_count++] = (struct tic_line_value){
            .id = handle->id,
            .version = value->version,
            .checksum = value->saved.checksum,
            .extent = value->saved.row.extent,
            .row = value->saved.row.row,
            .gone = gone,
        };
    tic_unlock(&handle->lock);
    return status;
}

static int describe_values_locked(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    size_t most = graph->handle_count + graph->recovered_value_count;
    int status = 0;

    line->values = calloc(most ? most : 1, sizeof(*line->values));
    if (!line->values)
        return -ENOMEM;
    for (unsigned long i = 0; i < graph->handle_count && status == 0; i++)
        status = describe_handle(graph->handles[i], cut, line);
    for (size_t i = 0; i < graph->recovered_value_count; i++)
        if (!graph->recovered_claimed[i])
            line->values[line->value_count++] = graph->recovered_values[i];
    qsort(line->values, line->value_count, sizeof(*line->values), by_value_id);
    return status;
}

static int describe_signatures(struct tic_graph *graph, struct tic_line *line)
{
    uint64_t count = tic_signature_count(&graph->signature);
    uint64_t first = count / TIC_SIGNATURE_BLOCK * TIC_SIGNATURE_BLOCK;

    line->signature_count = count - first;
    line->signatures = calloc(line->signature_count + 1, sizeof(*line->signatures));
    if (!line->signatures)
        return -ENOMEM;
    for (uint64_t i = first; i < count; i++)
        line->signatures[i - first] = tic_signature_entry(&graph->signature, i);
    line->tasks_submitted = count;
    return 0;
}

static int describe_callbacks_locked(struct tic_graph *graph, struct tic_line *line)
{
    size_t count = graph->callback_count, used = 0;

    line->callbacks = duplicate(graph->callbacks, count, sizeof(*line->callbacks));
    if (!line->callbacks)
        return -ENOMEM;
    qsort(line->callbacks, count, sizeof(*line->callbacks), by_callback_task);
    for (size_t i = 0; i < count; i++) /* a structure that was submitted again: its first time */
        if (used == 0 || line->callbacks[i].task != line->callbacks[used - 1].task)
            line->callbacks[used++] = line->callbacks[i];
    line->callback_count = used;
    return 0;
}

static int describe_reads_locked(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    line->reads = calloc(graph->read_count + 1, sizeof(*line->reads));
    if (!line->reads)
        return -ENOMEM;
    for (unsigned long i = 0; i < graph->read_count; i++)
        if (graph->reads[i].epoch <= cut)
            line->reads[line->read_count++] = graph->reads[i].read;
    qsort(line->reads, line->read_count, sizeof(*line->reads), by_task);
    return 0;
}

int tic_graph_describe(struct tic_graph *graph, uint64_t cut, struct tic_line *line)
{
    /* Signatures first: more of them than submissions before the cut is harmless, fewer is not. */
    line->clock = atomic_load(&graph->clock); /* a callback that ran before is in the line */
    tic_lock(&graph->lock);
    int status = describe_values_locked(graph, cut, line);
    status = status ? status : describe_reads_locked(graph, cut, line);
    status = status ? status : describe_callbacks_locked(graph, line);
    if (status == 0) {
        line->inputs = duplicate(graph->inputs, graph->input_count, sizeof(*line->inputs));
        line->input_count = graph->input_count;
        line->events = duplicate(graph->events, graph->event_count, sizeof(*line->events));
        line->event_count = graph->event_count;
        line->acquires = duplicate(graph->acquires, graph->acquire_count, sizeof(*line->acquires));
        while (line->acquire_count < graph->acquire_count &&
               graph->acquire_epochs[line->acquire_count] <= cut)
            line->acquire_count++;
        status = line->inputs && line->events && line->acquires ? 0 : -ENOMEM;
    }
    tic_unlock(&graph->lock);
    status = status ? status : tic_spawns_describe(&graph->spawns, cut, line);
    status = status ? status : describe_signatures(graph, line);
    status = status ? status : tic_doneset_ranges(&graph->done, &line->done, &line->done_count);
    line->tasks_done = graph->done.count + line->spawned_count + line->kept_done;
    return status;
}
