/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/looks_list.h"

#include <string.h>

#include "base/error.h"
#include "session/context.h"
#include "report/looks_tell.h"
#include "session/lookup.h"

struct tic_handle_list tic_looks_list;

static struct {
    struct tic_lock lock;
    struct tic_looks_ids ids;
} written = {.lock = {PTHREAD_MUTEX_INITIALIZER, TIC_RANK_LOOKS}};

static unsigned long place_of_locked(uint64_t id)
{
    unsigned long low = 0, high = tic_looks_list.count;

    while (low < high) {
        unsigned long middle = (low + high) / 2;
        if (tic_looks_list.items[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tic_handle *tic_looks_find_locked(uint64_t id)
{
    unsigned long at = place_of_locked(id);

    return at < tic_looks_list.count && tic_looks_list.items[at]->id == id
               ? tic_looks_list.items[at]
               : NULL;
}

void tic_looks_drop_locked(const struct tic_handle *handle)
{
    unsigned long at = place_of_locked(handle->id);

    memmove(&tic_looks_list.items[at], &tic_looks_list.items[at + 1],
            (--tic_looks_list.count - at) * sizeof(*tic_looks_list.items));
}

void tic_looks_list_written(struct tic_handle *handle)
{
    struct tic_looks_ids *ids = &written.ids;
    bool fine = true;

    tic_lock(&written.lock);
    if (!atomic_exchange(&handle->look_listed, true)) {
        void *grown = tic_grow(ids->items, &ids->capacity, ids->count + 1, sizeof(*ids->items));
        fine = grown != NULL;
        if (fine) {
            ids->items = grown;
            ids->items[ids->count++] = handle->id;
        }
    }
    tic_unlock(&written.lock);
    if (!fine)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
}

void tic_looks_take_written(struct tic_looks_ids *ids)
{
    tic_lock(&written.lock);
    struct tic_looks_ids swap = written.ids;
    written.ids = *ids;
    written.ids.count = 0;
    *ids = swap;
    tic_unlock(&written.lock);
}

void tic_looks_list_small(struct starpu_task *task, struct tic_small *small)
{
    unsigned buffers = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;

    small->count = 0;
    for (unsigned i = 0; i < buffers && small->count < STARPU_NMAXBUFS; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (handle && handle->look)
            small->ids[small->count++] = handle->id;
        else if (handle && handle->imaged)
            tic_looks_tell_large_of_callback(task);
    }
}

void tic_looks_append(uint64_t wait, uint64_t id, const char *bytes, uint64_t size)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_graph *graph = snapshot->graph;

    tic_lock(&graph->lock);
    uint64_t epoch = atomic_load(&snapshot->cut.epoch);
    int status = bytes ? tic_graph_note_look_locked(graph, wait, id, bytes, (uint32_t)size, epoch)
                       : tic_graph_mark_look_locked(graph, wait, id, epoch);
    tic_unlock(&graph->lock);
    if (status)
        tic_snapshot_break(snapshot, "out of memory");
}
