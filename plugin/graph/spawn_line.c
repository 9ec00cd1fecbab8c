/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a new line says of tasks that others than main() submit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/spawn.h"

/* Kept tasks that the cut knows and that a restart must submit. */
static bool is_in_line(const struct tic_spawn *spawn, uint64_t cut)
{
    uint64_t started = atomic_load_explicit(&spawn->started, memory_order_acquire);
    bool in_cut = started != 0 && started <= cut;
    return spawn->used && spawn->kept && spawn->since <= cut &&
           (!in_cut || spawn->task.flags & (TIC_KEPT_CONTROL | TIC_KEPT_AGAIN));
}

static void append_kept(struct tic_line *line, const struct tic_spawn *spawn, uint64_t cut)
{
    uint64_t started = atomic_load_explicit(&spawn->started, memory_order_acquire);
    struct tic_line_kept *entry = &line->kept[line->kept_count++];

    *entry = spawn->task;
    if (started > cut) /* it ended after the cut */
        entry->flags &= ~(uint32_t)TIC_KEPT_DONE;
    if (spawn->task.buffers)
        memcpy(line->buffers + line->buffer_count, spawn->buffers,
               spawn->task.buffers * sizeof(*spawn->buffers));
    if (spawn->task.arguments)
        memcpy(line->bytes.items + line->bytes.count, spawn->arguments, spawn->task.arguments);
    line->buffer_count += spawn->task.buffers;
    line->bytes.count += spawn->task.arguments;
}

static int by_order(const void *a, const void *b)
{
    const struct tic_spawn *x = *(const struct tic_spawn *const *)a;
    const struct tic_spawn *y = *(const struct tic_spawn *const *)b;
    return tic_order(x->order, y->order);
}

/* All kept tasks of the line, in the order of submission; *count of them. NULL: out of memory. */
static const struct tic_spawn **list_kept_locked(struct tic_spawns *spawns, uint64_t cut,
                                                 size_t *count)
{
    size_t most = spawns->recovered_count + spawns->count;
    const struct tic_spawn **list = calloc(most + 1, sizeof(*list));

    *count = 0;
    for (unsigned long i = 0; list && i < spawns->recovered_count; i++)
        if (!spawns->claimed[i])
            list[(*count)++] = &spawns->recovered[i];
    for (uint32_t i = 0; list && i < spawns->count; i++)
        if (is_in_line(tic_spawns_get(spawns, i), cut))
            list[(*count)++] = tic_spawns_get(spawns, i);
    if (list)
        qsort(list, *count, sizeof(*list), by_order);
    return list;
}

static int describe_kept_locked(struct tic_spawns *spawns, uint64_t cut, struct tic_line *line)
{
    size_t count, buffers = 0, bytes = 0;
    const struct tic_spawn **list = list_kept_locked(spawns, cut, &count);

    for (size_t i = 0; list && i < count; i++) {
        buffers += list[i]->task.buffers;
        bytes += list[i]->task.arguments;
    }
    line->kept = calloc(count + 1, sizeof(*line->kept));
    line->buffers = calloc(buffers + 1, sizeof(*line->buffers));
    line->bytes.items = calloc(bytes + 1, 1);
    bool fine = list && line->kept && line->buffers && line->bytes.items;
    for (size_t i = 0; fine && i < count; i++)
        append_kept(line, list[i], cut);
    free(list);
    return fine ? 0 : -ENOMEM;
}

static int describe_functions_locked(struct tic_spawns *spawns, struct tic_line *line)
{
    size_t size = 0;

    for (unsigned long i = 0; i < spawns->function_count; i++)
        size += strlen(spawns->functions[i]) + 1;
    line->functions.text = malloc(size + 1);
    if (!line->functions.text)
        return -ENOMEM;
    for (unsigned long i = 0; i < spawns->function_count; i++) {
        size_t length = strlen(spawns->functions[i]) + 1;
        memcpy(line->functions.text + line->functions.size, spawns->functions[i], length);
        line->functions.size += length;
    }
    return 0;
}

int tic_spawns_describe(struct tic_spawns *spawns, uint64_t cut, struct tic_line *line)
{
    tic_lock(&spawns->lock);
    int status = describe_kept_locked(spawns, cut, line);
    status = status ? status : describe_functions_locked(spawns, line);
    status = status ? status : tic_tail_describe(&spawns->writes, cut, line);
    status = status ? status : tic_tail_describe(&spawns->done, cut, line);
    line->kept_done = spawns->kept_done;
    line->on.machine_bound = atomic_load(&spawns->bound);
    tic_unlock(&spawns->lock);
    return status;
}

void tic_spawns_drop_tail(struct tic_spawns *spawns, uint32_t number, size_t count)
{
    tic_lock(&spawns->lock);
    if (number == TIC_TABLE_SPAWNED)
        tic_tail_drop(&spawns->done, count);
    if (number == TIC_TABLE_KEPT_WRITES)
        tic_tail_drop(&spawns->writes, count);
    tic_unlock(&spawns->lock);
}

void tic_spawns_forget(struct tic_spawns *spawns)
{
    tic_lock(&spawns->lock);
    tic_tail_close(&spawns->done, tic_tail_total(&spawns->done));
    tic_tail_close(&spawns->writes, tic_tail_total(&spawns->writes));
    tic_unlock(&spawns->lock);
}
