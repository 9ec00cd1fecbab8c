/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/left.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "session/context.h"
#include "session/nodes.h"
#include "session/symbol.h"

enum {
    WORDS = 512,     /* of each datum: the first that lie together */
    MOST_DATA = 4,   /* of a task */
    MOST_TASKS = 64, /* of a codelet that was not seen to put addresses anywhere */
    CODELETS = 256,
    PROBES = 8,
};

/* ---- codelets -------------------------------------------------------------------------------- */

static struct known {
    const struct starpu_codelet *_Atomic codelet; /* NULL: unused */
    _Atomic unsigned tasks;                       /* that were looked at */
    _Atomic bool leaves;
} codelets[CODELETS];

/* NULL: there are too many. */
static struct known *find(const struct starpu_codelet *codelet)
{
    size_t at = (uintptr_t)codelet / sizeof(*codelet);

    for (unsigned i = 0; i < PROBES; i++) {
        struct known *known = &codelets[(at + i) % CODELETS];
        const struct starpu_codelet *there = atomic_load(&known->codelet);
        if (there == codelet ||
            (!there && (atomic_compare_exchange_strong(&known->codelet, &there, codelet) ||
                        there == codelet)))
            return known;
    }
    return NULL;
}

static struct known *to_look_at(const struct starpu_codelet *codelet)
{
    struct known *known = codelet && !tic_nodes_several ? find(codelet) : NULL;

    if (!known || atomic_load_explicit(&known->leaves, memory_order_relaxed))
        return known;
    if (atomic_load_explicit(&known->tasks, memory_order_relaxed) >= MOST_TASKS)
        return NULL;
    atomic_fetch_add_explicit(&known->tasks, 1, memory_order_relaxed);
    return known;
}

/* ---- before a kernel ------------------------------------------------------------------------- */

struct kept {
    struct tic_handle *handle;
    const char *base;
    size_t words;
    uint64_t before[WORDS];
};

/* By the slot of a worker: whoever has the task. Of the session, and used by all after it. */
static struct task {
    struct known *of;
    unsigned count;
    struct kept kept[MOST_DATA];
} * tasks[TIC_MAX_WORKERS];

static bool may_hold(const struct tic_handle *handle)
{
    return handle->is_value && !handle->packer && handle->layout.base &&
           tic_layout_is_mapped(&handle->layout);
}

static void keep(struct kept *kept, struct tic_handle *handle)
{
    const struct tic_layout *layout = &handle->layout;
    uint64_t words = layout->shape.dims[0] * layout->shape.element_size / sizeof(uint64_t);

    kept->handle = handle;
    kept->base = layout->base;
    kept->words = words < WORDS ? words : WORDS;
    memcpy(kept->before, kept->base, kept->words * sizeof(uint64_t));
}

static struct task *own_task(const struct tic_slot *slot, bool make)
{
    if (slot->away)
        return NULL;
    if (!tasks[slot->number] && make)
        tasks[slot->number] = calloc(1, sizeof(struct task));
    return tasks[slot->number];
}

void tic_left_begin(const struct starpu_task *task, const struct tic_slot *slot)
{
    struct known *known = slot->writing.count > 0 ? to_look_at(task->cl) : NULL;
    struct task *own = own_task(slot, known != NULL);

    if (!own)
        return;
    own->of = known;
    own->count = 0;
    for (unsigned long i = 0; known && i < slot->writing.count && own->count < MOST_DATA; i++)
        if (may_hold(slot->writing.items[i]))
            keep(&own->kept[own->count++], slot->writing.items[i]);
}

/* ---- after it -------------------------------------------------------------------------------- */

static char found[200];

static void tell(const struct tic_handle *handle)
{
    static _Atomic bool told;

    if (atomic_exchange(&told, true))
        return;
    snprintf(found, sizeof(found),
             "tasks write addresses of memory of this process into data %llu%s",
             (unsigned long long)handle->id, tic_name_of(handle->id));
    if (!tic_session->report)
        tic_log(TIC_LOG_WARN, "%s; starpu-tic explain addresses", found);
}

/* The entry is in each line whose cut has the task, as the task has not ended yet. */
static void note(struct tic_handle *handle, uint64_t word)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_graph *graph = snapshot->graph;

    if (atomic_exchange(&handle->use.led, true))
        return;
    tell(handle);
    tic_lock(&graph->lock);
    int status = tic_graph_note_look_locked(graph, TIC_LOOK_LEFT, handle->id, (const char *)&word,
                                            sizeof(word), atomic_load(&snapshot->cut.epoch));
    tic_unlock(&graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}

static void compare(struct known *of, const struct kept *kept)
{
    uint64_t word;

    if (kept->handle->layout.base != kept->base)
        return; /* it has moved, or has another size */
    for (size_t i = 0; i < kept->words; i++) {
        memcpy(&word, kept->base + i * sizeof(word), sizeof(word));
        if (word == kept->before[i] || !tic_symbol_may_be_pointer(word) ||
            !tic_symbol_is_pointer(word))
            continue;
        atomic_store_explicit(&of->leaves, true, memory_order_relaxed);
        note(kept->handle, word);
        return;
    }
}

void tic_left_end(const struct tic_slot *slot)
{
    struct task *own = own_task(slot, false);

    for (unsigned i = 0; own && i < own->count; i++)
        compare(own->of, &own->kept[i]);
    if (own)
        own->count = 0;
}

const char *tic_left_found(void)
{
    return found;
}
