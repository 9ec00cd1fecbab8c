/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/looks_list.h"

#include <string.h>

#include "base/error.h"
#include "session/context.h"
#include "session/lookup.h"

struct tic_handle_list tic_looks_list;

/* The ids of its items, also of those that have left: a program may unregister its data in the
 * order in which it registered them, and there may be many. */
static struct {
    uint64_t *ids;
    unsigned long capacity, left;
} order;

struct leaving {
    uint64_t id;
    struct tic_layout layout;
};

/* By the call in which main() is. Guarded by the submission lock; the owner changes it. */
static struct {
    struct leaving *items;
    unsigned long count, capacity;
} leaving;

static struct {
    struct tic_lock lock;
    struct tic_looks_ids ids;
} written = {.lock = {PTHREAD_MUTEX_INITIALIZER, TIC_RANK_LOOKS}};

bool tic_looks_append_locked(struct tic_handle *handle)
{
    unsigned long at = tic_looks_list.count;

    if (tic_reserve(order.ids, order.capacity, at + 1) != 0)
        return false;
    order.ids[at] = handle->id;
    return tic_handle_append(&tic_looks_list, handle);
}

unsigned long tic_looks_count(void)
{
    return tic_looks_list.count - order.left;
}

static unsigned long place_of_locked(uint64_t id)
{
    return tic_first_from(id, order.ids, tic_looks_list.count);
}

struct tic_handle *tic_looks_find_locked(uint64_t id)
{
    unsigned long at = place_of_locked(id);

    return at < tic_looks_list.count && order.ids[at] == id ? tic_looks_list.items[at] : NULL;
}

static void close_gaps_locked(void)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < tic_looks_list.count; i++) {
        if (!tic_looks_list.items[i])
            continue;
        order.ids[kept] = order.ids[i];
        tic_looks_list.items[kept++] = tic_looks_list.items[i];
    }
    tic_looks_list.count = kept;
    order.left = 0;
}

void tic_looks_drop_locked(const struct tic_handle *handle)
{
    const struct leaving one = {handle->id, handle->layout};

    tic_snapshot_need(&tic_session->snapshot,
                      tic_append(leaving.items, leaving.count, leaving.capacity, &one) == 0);
    tic_looks_list.items[place_of_locked(handle->id)] = NULL;
    if (++order.left > tic_looks_list.count / 2)
        close_gaps_locked();
}

/* The last ones are the likeliest. */
const struct tic_layout *tic_looks_find_leaving_locked(uint64_t id)
{
    unsigned long i = leaving.count;

    while (i > 0 && leaving.items[i - 1].id != id)
        i--;
    return i > 0 ? &leaving.items[i - 1].layout : NULL;
}

void tic_looks_end_leaving(void)
{
    if (leaving.count == 0)
        return;
    tic_lock(&tic_session->submit);
    leaving.count = 0;
    tic_unlock(&tic_session->submit);
}

void tic_looks_list_written(struct tic_handle *handle)
{
    struct tic_looks_ids *ids = &written.ids;
    bool fine = true;

    tic_lock(&written.lock);
    if (!atomic_exchange(&handle->use.look_listed, true))
        fine = tic_append(ids->items, ids->count, ids->capacity, &handle->id) == 0;
    tic_unlock(&written.lock);
    tic_snapshot_need(&tic_session->snapshot, fine);
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
        if (handle && handle->use.look)
            small->ids[small->count++] = handle->id;
    }
}

void tic_looks_append(uint64_t wait, uint64_t id, const char *bytes, uint64_t size)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_graph *graph = snapshot->graph;

    tic_lock(&graph->lock);
    uint64_t epoch = atomic_load(&snapshot->cut.epoch);
    int status =
        tic_graph_note_look_locked(graph, wait, id, bytes, bytes ? (uint32_t)size : 0, epoch);
    tic_unlock(&graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}
