/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/followed.h"

#include <stdatomic.h>
#include <string.h>

#include "session/lookup.h"
#include "session/marks.h"
#include "session/nodes.h"
#include "session/symbol.h"
#include "unseen/heap.h"
#include "unseen/statics.h"

enum {
    WORDS = 8,       /* of such data */
    MOST_LOOKS = 256 /* where they may lead, each with system calls */
};

/* By the slot of a worker: whoever has the task. Each in cache lines of its own. */
static struct {
    const struct tic_handle *handle; /* NULL: none, or the task has written it */
    size_t size;
    uint64_t words[WORDS];
} __attribute__((aligned(128))) before[TIC_MAX_WORKERS];

static _Atomic unsigned looks; /* relaxed */

/* Addresses, one at least, and nothing else but zeros. */
static bool are_addresses(const uint64_t *words, size_t size)
{
    unsigned addresses = 0, others = 0;

    for (size_t i = 0; i < size / sizeof(*words); i++)
        if (words[i] != 0 && tic_symbol_may_be_pointer(words[i]))
            addresses++;
        else if (words[i] != 0)
            others++;
    return addresses > 0 && others == 0;
}

static bool is_small(const struct tic_handle *handle)
{
    uint64_t size = handle->is_value ? tic_shape_bytes(&handle->layout.shape) : 0;

    return size > 0 && size <= WORDS * sizeof(uint64_t) && size % sizeof(uint64_t) == 0 &&
           handle->home_node >= 0 && !handle->packer && tic_layout_span(&handle->layout) == size;
}

/* Who only writes it may have put the same there. */
static bool reads_and_writes(struct starpu_task *task, const struct tic_handle *handle)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task), i = 0;

    while (i < buffers && tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)) != handle)
        i++;
    return i < buffers && (STARPU_TASK_GET_MODE(task, i) & STARPU_RW) == STARPU_RW;
}

static void keep(unsigned place, const struct tic_handle *handle)
{
    before[place].size = tic_shape_bytes(&handle->layout.shape);
    memcpy(before[place].words, handle->layout.base, before[place].size);
    before[place].handle = are_addresses(before[place].words, before[place].size) ? handle : NULL;
}

void tic_followed_begin(struct starpu_task *task, const struct tic_slot *slot)
{
    unsigned place = slot->number;

    if (slot->away)
        return;
    before[place].handle = NULL;
    if (tic_nodes_several || /* what main memory holds may be older, or on a disk */
        atomic_load_explicit(&looks, memory_order_relaxed) >= MOST_LOOKS)
        return;
    for (unsigned long i = 0; i < slot->writing.count && !before[place].handle; i++) {
        const struct tic_handle *handle = slot->writing.items[i];
        if (is_small(handle))
            keep(place, handle);
        if (before[place].handle && !reads_and_writes(task, handle))
            before[place].handle = NULL;
    }
}

/* A task after this one may be writing it already, or main() may have given it back. */
static bool is_as_it_was(unsigned place)
{
    uint64_t now[WORDS];
    size_t size = before[place].size;

    return tic_heap_read(before[place].handle->layout.base, (char *)now, size) &&
           memcmp(now, before[place].words, size) == 0;
}

void tic_followed_end(struct starpu_task *task, const struct tic_slot *slot)
{
    unsigned place = slot->number;

    if (__builtin_expect(!before[place].handle, 1))
        return;
    if (!is_as_it_was(place)) {
        before[place].handle = NULL;
    } else if (tic_marks_of(task) != TIC_MARK_CAN_SKIP) {
        atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
        tic_statics_note_followed(task, before[place].handle->id, before[place].words,
                                  before[place].size / sizeof(uint64_t));
    }
}
