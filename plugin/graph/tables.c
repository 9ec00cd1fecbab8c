/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of a line that only grow: what this run adds, and what the recovered line has, sorted by
 * what it is looked up by. */
#include "graph/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *tic_graph_duplicate(const void *array, size_t count, size_t item)
{
    void *copy = malloc(count ? count * item : 1);
    if (copy && count)
        memcpy(copy, array, count * item);
    return copy;
}

/* ---- what an earlier run left --------------------------------------------------------------- */

/* NULL: out of memory. */
static void *sort_copy(const void *array, size_t count, size_t item, tic_comparison compare)
{
    void *copy = tic_graph_duplicate(array, count, item);

    if (copy)
        qsort(copy, count, item, compare);
    return copy;
}

static int load_acquires(struct tic_graph *graph, struct tic_line *line)
{
    size_t count = line->acquire_count;

    graph->recovered.acquires = tic_graph_duplicate(line->acquires, count, sizeof(*line->acquires));
    graph->recovered.main_writes = calloc(count ? count : 1, sizeof(uint64_t));
    if (!graph->recovered.acquires || !graph->recovered.main_writes)
        return -ENOMEM;
    graph->recovered.acquire_count = count;
    for (size_t i = 0; i < count; i++)
        if (line->acquires[i].writes == 1)
            graph->recovered.main_writes[graph->recovered.main_write_count++] =
                line->acquires[i].id;
    tic_sort(graph->recovered.main_writes, graph->recovered.main_write_count, tic_line_by_number);
    return tic_tail_load(&graph->acquires, line);
}

static int by_look(const void *a, const void *b)
{
    const struct tic_line_look *x = a, *y = b;
    return tic_line_by_two_numbers(x, y) ?: tic_order(x->part, y->part);
}

/* The first part of a value stands for all of it. */
static int load_looked(struct tic_graph *graph, const struct tic_line *line)
{
    size_t count = 0;

    graph->recovered.looked = calloc(line->look_count + 1, sizeof(*graph->recovered.looked));
    if (!graph->recovered.looked)
        return -ENOMEM;
    for (size_t i = 0; i < line->look_count; i++)
        if (line->looks[i].part == 0 && line->looks[i].bytes > 0)
            graph->recovered.looked[count++] = line->looks[i].id;
    graph->recovered.looked_count = count;
    tic_sort(graph->recovered.looked, count, tic_line_by_number);
    return 0;
}

static int load_looks(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered.looks =
        sort_copy(line->looks, line->look_count, sizeof(*line->looks), by_look);
    if (!graph->recovered.looks)
        return -ENOMEM;
    graph->recovered.look_count = line->look_count;
    for (size_t i = 0; i < line->look_count && graph->recovered.looks[i].wait < TIC_LOOK_CALLBACK;
         i++)
        graph->recovered.last_look = graph->recovered.looks[i].wait;
    int status = load_looked(graph, line);
    return status ? status : tic_tail_load(&graph->looks, line);
}

int tic_graph_load_tables(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered.clock = line->clock;
    graph->recovered.position = tic_line_position(line);
    graph->recovered.positioned = line->verified != 0;
    graph->recovered.quiescent = line->quiescent != 0;
    graph->recovered.input_count = line->input_count;
    graph->recovered.inputs =
        sort_copy(line->inputs, line->input_count, sizeof(*line->inputs), tic_line_by_number);
    graph->recovered.read_count = line->read_count;
    graph->recovered.reads =
        sort_copy(line->reads, line->read_count, sizeof(*line->reads), tic_line_by_read);
    int status = graph->recovered.inputs && graph->recovered.reads ? 0 : -ENOMEM;
    status = status ? status : tic_tail_load(&graph->inputs, line);
    status = status ? status : tic_tail_load(&graph->reads, line);
    status = status ? status : load_acquires(graph, line);
    status = status ? status : load_looks(graph, line);
    return status ? status : tic_history_load(&graph->history, line);
}

/* ---- the history ----------------------------------------------------------------------------- */

int tic_graph_note_locked(struct tic_graph *graph, struct tic_line_entry entry, uint64_t epoch)
{
    entry.position = atomic_load(&graph->position);
    return tic_history_append(&graph->history, &entry, epoch);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static const struct tic_line_input *find_input(const struct tic_graph *graph, uint64_t id)
{
    return tic_find(&id, graph->recovered.inputs, graph->recovered.input_count, tic_line_by_number);
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
    status = status ? status
                    : tic_graph_note_locked(
                          graph, (struct tic_line_entry){.kind = TIC_HISTORY_INPUT, .subject = id},
                          epoch);
    tic_unlock(&graph->lock);
    return status;
}

/* ---- what main() and tasks do ------------------------------------------------------------------
 */

const struct tic_line_acquire *tic_graph_replay_acquire(struct tic_graph *graph)
{
    return graph->next_acquire < graph->recovered.acquire_count
               ? &graph->recovered.acquires[graph->next_acquire++]
               : NULL;
}

bool tic_graph_expects_unpartition(const struct tic_graph *graph, uint64_t id)
{
    for (size_t i = graph->next_acquire; i < graph->recovered.acquire_count; i++)
        if (graph->recovered.acquires[i].id == id &&
            graph->recovered.acquires[i].writes == TIC_ACQUIRE_UNPARTITION)
            return true;
    return false;
}

int tic_graph_note_acquire_locked(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                                  uint64_t epoch)
{
    const bool merges = acquire->writes == TIC_ACQUIRE_UNPARTITION;
    const struct tic_line_entry entry = {.kind = merges ? TIC_HISTORY_MERGE : TIC_HISTORY_VALUE,
                                         .subject = acquire->id};
    int status = tic_tail_append(&graph->acquires, acquire, epoch);

    return status ? status : tic_graph_note_locked(graph, entry, epoch);
}

bool tic_graph_find_read(struct tic_graph *graph, uint64_t task, uint32_t buffer,
                         struct tic_line_read *read)
{
    const struct tic_line_read key = {.task = task, .buffer = buffer};
    const struct tic_line_read *found =
        tic_find(&key, graph->recovered.reads, graph->recovered.read_count, tic_line_by_read);

    if (found)
        *read = *found;
    return found != NULL;
}

int tic_graph_note_read_locked(struct tic_graph *graph, const struct tic_line_read *read,
                               const struct tic_reader *reader, uint64_t epoch)
{
    const struct tic_line_entry entry = {.kind = TIC_HISTORY_VALUE,
                                         .role = reader->role,
                                         .actor = read->task,
                                         .subject = reader->handle,
                                         .part = read->buffer};
    struct tic_line_read known;

    if (tic_graph_find_read(graph, read->task, read->buffer, &known))
        return 0;
    int status = tic_tail_append(&graph->reads, read, epoch);
    return status ? status : tic_graph_note_locked(graph, entry, epoch);
}

int tic_graph_note_read(struct tic_graph *graph, const struct tic_line_read *read,
                        const struct tic_reader *reader, uint64_t epoch)
{
    tic_lock(&graph->lock);
    int status = tic_graph_note_read_locked(graph, read, reader, epoch);
    tic_unlock(&graph->lock);
    return status;
}

/* ---- what main() may look at ----------------------------------------------------------------- */

int tic_graph_note_look_locked(struct tic_graph *graph, uint64_t wait, uint64_t id,
                               const char *bytes, uint32_t size, uint64_t epoch)
{
    const struct tic_line_entry entry = {.kind = TIC_HISTORY_BYTES, .actor = wait, .subject = id};
    uint32_t done = 0;
    int status;

    do {
        struct tic_line_look look = {
            .wait = wait, .id = id, .part = done / TIC_LOOK_BYTES, .bytes = size};
        const uint32_t rest = size - done;
        if (rest > 0)
            memcpy(look.words, bytes + done, rest < TIC_LOOK_BYTES ? rest : TIC_LOOK_BYTES);
        status = tic_tail_append(&graph->looks, &look, epoch);
        done += TIC_LOOK_BYTES;
    } while (done < size && status == 0);
    return status ? status : tic_graph_note_locked(graph, entry, epoch);
}

/* The first entry that is not before this one. */
static size_t place_of_look(const struct tic_graph *graph, const struct tic_line_look *key)
{
    size_t low = 0, high = graph->recovered.look_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_look(&graph->recovered.looks[middle], key) < 0)
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

    for (*count = 0; first + *count < graph->recovered.look_count &&
                     graph->recovered.looks[first + *count].wait == wait;)
        (*count)++;
    return graph->recovered.looks + first;
}

const struct tic_line_look *tic_graph_find_look(const struct tic_graph *graph, uint64_t wait,
                                                uint64_t id, uint32_t part, size_t *count)
{
    const struct tic_line_look key = {.wait = wait, .id = id, .part = part};
    size_t first = place_of_look(graph, &key);

    for (*count = 0; first + *count < graph->recovered.look_count &&
                     by_look(&graph->recovered.looks[first + *count], &key) == 0;)
        (*count)++;
    return graph->recovered.looks + first;
}

bool tic_graph_was_looked_at(const struct tic_graph *graph, uint64_t id)
{
    return tic_find(&id, graph->recovered.looked, graph->recovered.looked_count,
                    tic_line_by_number);
}

uint64_t tic_graph_last_look(const struct tic_graph *graph)
{
    return graph->recovered.last_look;
}
