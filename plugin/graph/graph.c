/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* G_i: the registry of handles, done tasks, signatures, inputs and events. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"

int tic_graph_init(struct tic_graph *graph)
{
    memset(graph, 0, sizeof(*graph));
    tic_lock_init(&graph->lock, TIC_RANK_GRAPH);
    tic_doneset_init(&graph->done);
    tic_doneset_init(&graph->recovered_done);
    tic_tail_init(&graph->inputs, TIC_TABLE_INPUTS);
    tic_tail_init(&graph->events, TIC_TABLE_EVENTS);
    tic_tail_init(&graph->acquires, TIC_TABLE_ACQUIRES);
    tic_tail_init(&graph->reads, TIC_TABLE_READS);
    tic_tail_init(&graph->callbacks, TIC_TABLE_CALLBACKS);
    tic_tail_init(&graph->looks, TIC_TABLE_LOOKS);
    tic_tail_init(&graph->ran, TIC_TABLE_RAN);
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
    tic_tail_fini(&graph->callbacks);
    tic_tail_fini(&graph->looks);
    tic_tail_fini(&graph->ran);
    free(graph->recovered_looks);
    free(graph->recovered_looked);
    free(graph->recovered_ran);
    free(graph->recovered_events);
    free(graph->recovered_acquires);
    free(graph->recovered_reads);
    free(graph->recovered_callbacks);
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

static int load_acquires(struct tic_graph *graph, struct tic_line *line)
{
    size_t count = line->acquire_count;

    graph->recovered_acquires = duplicate(line->acquires, count, sizeof(*line->acquires));
    graph->recovered_main_writes = calloc(count ? count : 1, sizeof(uint64_t));
    if (!graph->recovered_acquires || !graph->recovered_main_writes)
        return -ENOMEM;
    graph->recovered_acquire_count = count;
    for (size_t i = 0; i < count; i++)
        if (line->acquires[i].writes == 1)
            graph->recovered_main_writes[graph->recovered_main_write_count++] =
                line->acquires[i].id;
    if (count > 0)
        qsort(graph->recovered_main_writes, graph->recovered_main_write_count, sizeof(uint64_t),
              by_number);
    return tic_tail_load(&graph->acquires, line);
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

static int by_task(const void *a, const void *b)
{
    const struct tic_line_read *x = a, *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int load_reads(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered_reads = duplicate(line->reads, line->read_count, sizeof(*line->reads));
    if (!graph->recovered_reads)
        return -ENOMEM;
    graph->recovered_read_count = line->read_count;
    qsort(graph->recovered_reads, line->read_count, sizeof(*line->reads), by_task);
    return tic_tail_load(&graph->reads, line);
}

static int by_callback_task(const void *a, const void *b)
{
    uint64_t x = ((const struct tic_line_callback *)a)->task;
    uint64_t y = ((const struct tic_line_callback *)b)->task;
    return x < y ? -1 : x > y;
}

static int by_callback(const void *a, const void *b)
{
    const struct tic_line_callback *x = a, *y = b;
    int order = by_callback_task(a, b);
    return order ? order : x->clock < y->clock ? -1 : x->clock > y->clock;
}

static int load_callbacks(struct tic_graph *graph, struct tic_line *line)
{
    size_t used = 0;

    struct tic_line_callback *callbacks =
        duplicate(line->callbacks, line->callback_count, sizeof(*callbacks));
    if (!callbacks)
        return -ENOMEM;
    qsort(callbacks, line->callback_count, sizeof(*callbacks), by_callback);
    for (size_t i = 0; i < line->callback_count;
         i++) /* a structure submitted again: its first time */
        if (used == 0 || callbacks[i].task != callbacks[used - 1].task)
            callbacks[used++] = callbacks[i];
    graph->recovered_callbacks = callbacks;
    graph->recovered_callback_count = used;
    graph->recovered_clock = line->clock;
    graph->recovered_position = line->clock << TIC_WAIT_BITS | line->waits;
    return tic_tail_load(&graph->callbacks, line);
}

static int by_look(const void *a, const void *b)
{
    const struct tic_line_look *x = a, *y = b;
    if (x->wait != y->wait)
        return x->wait < y->wait ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* The first part of a value stands for all of it. */
static int load_looked(struct tic_graph *graph, const struct tic_line *line)
{
    size_t count = 0;

    graph->recovered_looked = calloc(line->look_count + 1, sizeof(*graph->recovered_looked));
    if (!graph->recovered_looked)
        return -ENOMEM;
    for (size_t i = 0; i < line->look_count; i++)
        if (line->looks[i].part == 0 && line->looks[i].bytes > 0)
            graph->recovered_looked[count++] = line->looks[i].id;
    graph->recovered_looked_count = count;
    qsort(graph->recovered_looked, count, sizeof(*graph->recovered_looked), by_number);
    return 0;
}

static int load_looks(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered_verified = line->verified != 0;
    graph->recovered_quiescent = line->quiescent != 0;
    graph->recovered_looks = duplicate(line->looks, line->look_count, sizeof(*line->looks));
    graph->recovered_ran = duplicate(line->ran, line->ran_count, sizeof(*line->ran));
    if (!graph->recovered_looks || !graph->recovered_ran)
        return -ENOMEM;
    graph->recovered_look_count = line->look_count;
    graph->recovered_ran_count = line->ran_count;
    qsort(graph->recovered_looks, line->look_count, sizeof(*line->looks), by_look);
    qsort(graph->recovered_ran, line->ran_count, sizeof(*line->ran), by_number);
    for (size_t i = 0; i < line->look_count && graph->recovered_looks[i].wait < TIC_LOOK_CALLBACK;
         i++)
        graph->last_look = graph->recovered_looks[i].wait;
    int status = load_looked(graph, line);
    status = status ? status : tic_tail_load(&graph->looks, line);
    return status ? status : tic_tail_load(&graph->ran, line);
}

static int load_signatures(struct tic_graph *graph, const struct tic_line *line)
{
    int status = 0;

    for (size_t i = 0; i < line->signature_count && status == 0; i++)
        status = tic_signature_load(&graph->signature, line->signatures[i]);
    graph->signature.in_blocks = tic_table_in_blocks(line, TIC_TABLE_SIGNATURES);
    return status;
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

int tic_graph_load(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered_values =
        duplicate(line->values, line->value_count, sizeof(*graph->recovered_values));
    graph->recovered_claimed = calloc(line->value_count ? line->value_count : 1, sizeof(bool));
    graph->recovered_inputs =
        duplicate(line->inputs, line->input_count, sizeof(*graph->recovered_inputs));
    graph->recovered_events =
        duplicate(line->events, line->event_count, sizeof(*graph->recovered_events));
    if (!graph->recovered_values || !graph->recovered_claimed || !graph->recovered_inputs ||
        !graph->recovered_events)
        return -ENOMEM;
    graph->recovered_value_count = line->value_count;
    graph->recovered_tasks = line->tasks_done;
    graph->recovered_input_count = line->input_count;
    graph->recovered_workers = line->workers;
    graph->recovered_event_count = line->event_count;
    for (size_t i = 0; i < line->event_count; i++)
        graph->event_chain = tic_graph_chain(graph->event_chain, &line->events[i]);
    qsort(graph->recovered_inputs, line->input_count, sizeof(*graph->recovered_inputs),
          by_input_id);
    int status = tic_tail_load(&graph->inputs, line);
    status = status ? status : tic_tail_load(&graph->events, line);
    status = status ? status : load_acquires(graph, line);
    status = status ? status : load_reads(graph, line);
    status = status ? status : load_callbacks(graph, line);
    status = status ? status : load_looks(graph, line);
    status = status ? status : load_signatures(graph, line);
    status = status ? status : tic_spawns_load(&graph->spawns, line);
    return status ? status : load_done(graph, line);
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
    void *grown = tic_grow(graph->handles, &graph->handle_capacity, graph->handle_count + 1,
                           sizeof(*graph->handles));
    if (grown) {
        graph->handles = grown;
        handle->index = graph->handle_count;
        graph->handles[graph->handle_count++] = handle;
        atomic_fetch_add_explicit(&graph->registered, 1, memory_order_relaxed);
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

bool tic_graph_note_changed_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    /* acq_rel: see tic_cut_write */
    return atomic_exchange_explicit(&handle->listed, true, memory_order_acq_rel) ||
           tic_handle_append(&graph->changed, handle);
}

bool tic_graph_leave_locked(struct tic_graph *graph, struct tic_handle *handle, uint64_t epoch)
{
    bool fine = handle->gone_since != 0 || tic_handle_append(&graph->gone, handle);

    handle->gone_since = epoch;
    return tic_graph_note_changed_locked(graph, handle) && fine;
}

static void destroy_locked(struct tic_graph *graph, struct tic_handle *handle)
{
    struct tic_handle *last = graph->handles[--graph->handle_count];

    graph->handles[handle->index] = last;
    last->index = handle->index;
    tic_handle_destroy(handle);
}

void tic_graph_reclaim(struct tic_graph *graph, uint64_t cut)
{
    struct tic_handle_list *gone = &graph->gone;
    unsigned long left = 0;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < gone->count; i++) {
        struct tic_handle *handle = gone->items[i];
        if (handle->pinned && !handle->leaving)
            continue; /* it stays for ever */
        if (handle->gone_since > cut || handle->leaving || atomic_load(&handle->listed))
            gone->items[left++] = handle;
        else
            destroy_locked(graph, handle);
    }
    gone->count = left;
    tic_unlock(&graph->lock);
}

/* ---- inputs and events ---------------------------------------------------------------------- */

static const struct tic_line_input *find_input(const struct tic_graph *graph, uint64_t id)
{
    const struct tic_line_input entry = {.id = id};

    return graph->recovered_input_count == 0
               ? NULL
               : bsearch(&entry, graph->recovered_inputs, graph->recovered_input_count,
                         sizeof(entry), by_input_id);
}

uint64_t tic_graph_recorded_input(const struct tic_graph *graph, uint64_t id)
{
    const struct tic_line_input *known = find_input(graph, id);

    return known ? known->hash : 0;
}

int tic_graph_note_input(struct tic_graph *graph, uint64_t id, uint64_t hash, uint64_t epoch)
{
    struct tic_line_input entry = {id, hash};
    const struct tic_line_input *known = find_input(graph, id);

    if (known)
        return known->hash == hash ? 0 : -EILSEQ;
    tic_lock(&graph->lock);
    int status = tic_tail_append(&graph->inputs, &entry, epoch);
    tic_unlock(&graph->lock);
    return status;
}

uint64_t tic_graph_chain(uint64_t hash, const struct tic_line_event *event)
{
    const uint64_t words[3] = {hash, event->kind, (uint64_t)event->value};

    return XXH3_64bits(words, sizeof(words));
}

static bool is_answer(const struct tic_line_event *event)
{
    return event->kind >= TIC_EVENT_WORKERS;
}

const struct tic_line_event *tic_graph_next_event(const struct tic_graph *graph)
{
    return graph->next_event < graph->recovered_event_count
               ? &graph->recovered_events[graph->next_event]
               : NULL;
}

int tic_graph_note_event(struct tic_graph *graph, enum tic_event kind, int64_t value)
{
    struct tic_line_event event = {kind, value};

    tic_lock(&graph->lock);
    int status = tic_tail_append(&graph->events, &event, 0);
    graph->next_event += status == 0;
    graph->event_chain = tic_graph_chain(graph->event_chain, &event);
    tic_unlock(&graph->lock);
    return status;
}

int tic_graph_event(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    const struct tic_line_event *event = tic_graph_next_event(graph);

    for (; event && is_answer(event); event = tic_graph_next_event(graph))
        graph->next_event++;
    if (!event)
        return tic_graph_note_event(graph, kind, *value);
    graph->next_event++;
    *value = event->value;
    return event->kind == (uint32_t)kind ? 0 : -EILSEQ;
}

/* The recorded end of the answers that come next: where main() goes on. */
static const struct tic_line_event *find_asked(struct tic_graph *graph)
{
    if (graph->next_asked < graph->next_event)
        graph->next_asked = graph->next_event;
    while (graph->next_asked < graph->recovered_event_count &&
           graph->recovered_events[graph->next_asked].kind != TIC_EVENT_ASKED)
        graph->next_asked++;
    return graph->next_asked < graph->recovered_event_count
               ? &graph->recovered_events[graph->next_asked]
               : NULL;
}

uint64_t tic_graph_end_answers(struct tic_graph *graph, uint64_t position)
{
    const struct tic_line_event *event = tic_graph_next_event(graph);
    uint64_t unasked = 0;

    while (event && is_answer(event)) {
        const struct tic_line_event *end = find_asked(graph);
        if (!end || (uint64_t)end->value > position)
            break;
        unasked += event->kind >= TIC_EVENT_ANSWER || event->kind == TIC_EVENT_SAME;
        graph->next_event++;
        event = tic_graph_next_event(graph);
    }
    return unasked;
}

int64_t tic_graph_find_workers(const struct tic_graph *graph, enum tic_event kind, uint64_t start,
                               bool earlier)
{
    int64_t found = -1;
    bool counts = earlier; /* the recorded run may not have come to this start */

    for (size_t i = 0; i < graph->recovered_event_count; i++) {
        const struct tic_line_event *event = &graph->recovered_events[i];
        if (event->kind == TIC_EVENT_START && (uint64_t)event->value > start)
            break;
        if (event->kind == TIC_EVENT_START)
            counts = earlier || (uint64_t)event->value == start;
        if (event->kind == (uint32_t)kind && counts)
            found = event->value;
    }
    return found;
}

void tic_graph_rewind_events(struct tic_graph *graph)
{
    free(graph->recovered_events);
    graph->recovered_events = (struct tic_line_event *)(void *)graph->events.items;
    graph->recovered_event_count = graph->events.count;
    graph->events.items = NULL;
    tic_tail_fini(&graph->events);
    tic_tail_init(&graph->events, TIC_TABLE_EVENTS);
    graph->next_event = 0;
}

bool tic_graph_expects(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    for (uint64_t i = graph->next_event; i < graph->recovered_event_count; i++)
        if (graph->recovered_events[i].kind == (uint32_t)kind) {
            *value = graph->recovered_events[i].value;
            return true;
        }
    return false;
}

const struct tic_line_acquire *tic_graph_replay_acquire(struct tic_graph *graph)
{
    return graph->next_acquire < graph->recovered_acquire_count
               ? &graph->recovered_acquires[graph->next_acquire++]
               : NULL;
}

bool tic_graph_expects_unpartition(const struct tic_graph *graph, uint64_t id)
{
    for (size_t i = graph->next_acquire; i < graph->recovered_acquire_count; i++)
        if (graph->recovered_acquires[i].id == id &&
            graph->recovered_acquires[i].writes == TIC_ACQUIRE_UNPARTITION)
            return true;
    return false;
}

int tic_graph_note_acquire_locked(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                                  uint64_t epoch)
{
    return tic_tail_append(&graph->acquires, acquire, epoch);
}

int tic_graph_note_acquire(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                           uint64_t epoch)
{
    tic_lock(&graph->lock);
    int status = tic_graph_note_acquire_locked(graph, acquire, epoch);
    tic_unlock(&graph->lock);
    return status;
}

bool tic_graph_find_read(struct tic_graph *graph, uint64_t task, uint32_t buffer,
                         struct tic_line_read *read)
{
    struct tic_line_read key = {.task = task, .buffer = buffer}, *found = NULL;

    if (graph->recovered_read_count > 0)
        found = bsearch(&key, graph->recovered_reads, graph->recovered_read_count, sizeof(key),
                        by_task);
    if (found)
        *read = *found;
    return found != NULL;
}

int tic_graph_note_read(struct tic_graph *graph, const struct tic_line_read *read, uint64_t epoch)
{
    struct tic_line_read known;

    if (tic_graph_find_read(graph, read->task, read->buffer, &known))
        return 0;
    tic_lock(&graph->lock);
    int status = tic_tail_append(&graph->reads, read, epoch);
    tic_unlock(&graph->lock);
    return status;
}

static const struct tic_line_callback *find_callback(const struct tic_graph *graph, uint64_t task)
{
    struct tic_line_callback key = {.task = task};

    return graph->recovered_callback_count == 0
               ? NULL
               : bsearch(&key, graph->recovered_callbacks, graph->recovered_callback_count,
                         sizeof(key), by_callback_task);
}

int tic_graph_note_callback_locked(struct tic_graph *graph, uint64_t task, uint64_t epoch)
{
    struct tic_line_callback entry = {task, atomic_load(&graph->clock)};

    return find_callback(graph, task) ? 0 : tic_tail_append(&graph->callbacks, &entry, epoch);
}

int tic_graph_note_callback(struct tic_graph *graph, uint64_t task)
{
    tic_lock(&graph->lock);
    int status = tic_graph_note_callback_locked(graph, task, 0);
    tic_unlock(&graph->lock);
    return status;
}

uint64_t tic_graph_callback_clock(struct tic_graph *graph, uint64_t task, bool *known)
{
    const struct tic_line_callback *found = find_callback(graph, task);

    *known = found != NULL;
    return found ? found->clock : graph->recovered_clock;
}

/* ---- tasks that write no content ------------------------------------------------------------- */

int tic_graph_note_ran(struct tic_graph *graph, uint64_t task, uint64_t epoch)
{
    tic_lock(&graph->lock);
    int status = tic_tail_append(&graph->ran, &task, epoch);
    tic_unlock(&graph->lock);
    return status;
}

bool tic_graph_has_run(const struct tic_graph *graph, uint64_t task)
{
    return graph->recovered_ran_count > 0 &&
           bsearch(&task, graph->recovered_ran, graph->recovered_ran_count, sizeof(task),
                   by_number) != NULL;
}

/* ---- what main() may look at ----------------------------------------------------------------- */

int tic_graph_mark_look_locked(struct tic_graph *graph, uint64_t wait, uint64_t id, uint64_t epoch)
{
    struct tic_line_look look = {.wait = wait, .id = id};

    return tic_tail_append(&graph->looks, &look, epoch);
}

int tic_graph_note_look_locked(struct tic_graph *graph, uint64_t wait, uint64_t id,
                               const char *bytes, uint32_t size, uint64_t epoch)
{
    int status = 0;

    for (uint32_t done = 0; done < size && status == 0; done += TIC_LOOK_BYTES) {
        struct tic_line_look look = {
            .wait = wait, .id = id, .part = done / TIC_LOOK_BYTES, .bytes = size};
        memcpy(look.words, bytes + done,
               size - done < TIC_LOOK_BYTES ? size - done : TIC_LOOK_BYTES);
        status = tic_tail_append(&graph->looks, &look, epoch);
    }
    return status;
}

/* The first entry that is not before this one. */
static size_t place_of_look(const struct tic_graph *graph, const struct tic_line_look *key)
{
    size_t low = 0, high = graph->recovered_look_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_look(&graph->recovered_looks[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct tic_line_look *tic_graph_find_looks(const struct tic_graph *graph, uint64_t wait,
                                                 size_t *count)
{
    size_t first = place_of_look(graph, &(struct tic_line_look){.wait = wait});

    for (*count = 0; first + *count < graph->recovered_look_count &&
                     graph->recovered_looks[first + *count].wait == wait;)
        (*count)++;
    return graph->recovered_looks + first;
}

const struct tic_line_look *tic_graph_find_look(const struct tic_graph *graph, uint64_t wait,
                                                uint64_t id, uint32_t part, size_t *count)
{
    const struct tic_line_look key = {.wait = wait, .id = id, .part = part};
    size_t first = place_of_look(graph, &key);

    for (*count = 0; first + *count < graph->recovered_look_count &&
                     by_look(&graph->recovered_looks[first + *count], &key) == 0;)
        (*count)++;
    return graph->recovered_looks + first;
}

bool tic_graph_was_looked_at(const struct tic_graph *graph, uint64_t id)
{
    return graph->recovered_looked_count > 0 &&
           bsearch(&id, graph->recovered_looked, graph->recovered_looked_count,
                   sizeof(*graph->recovered_looked), by_number);
}

uint64_t tic_graph_last_look(const struct tic_graph *graph)
{
    return graph->last_look;
}
