/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cut: which tasks started before instant t0, without stopping anyone. */
#include "snapshot/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int tic_cut_init(struct tic_cut *cut, unsigned workers)
{
    atomic_store(&cut->epoch, 1);
    atomic_store(&cut->active_cut, 0);
    cut->slot_count = workers;
    cut->slots = aligned_alloc(128, workers * sizeof(*cut->slots));
    if (!cut->slots)
        return -ENOMEM;
    memset(cut->slots, 0, workers * sizeof(*cut->slots));
    return 0;
}

void tic_cut_fini(struct tic_cut *cut)
{
    for (unsigned i = 0; cut->slots && i < cut->slot_count; i++) {
        for (unsigned parity = 0; parity < 2; parity++) {
            free(cut->slots[i].ended[parity].items);
            free(cut->slots[i].dirty[parity].items);
        }
        free(cut->slots[i].writing.items);
        free(cut->slots[i].arguments_before);
    }
    free(cut->slots);
    cut->slots = NULL;
}

void tic_cut_await_noted(struct tic_handle *handle)
{
    tic_lock(&handle->lock);
    tic_unlock(&handle->lock);
}

void tic_cut_note_writing(struct tic_slot *slot, struct tic_handle *handle)
{
    if (!tic_handle_append(&slot->writing, handle))
        slot->failed = true;
}

void tic_cut_note_dirty(struct tic_slot *slot, uint64_t epoch, struct tic_handle *handle)
{
    atomic_store_explicit(&handle->dirty_since, epoch, memory_order_release);
    /* acq_rel: when the handle is listed for the active cut still, the checkpoint thread, which
     * clears the flag after us, sees the new dirty_since and carries the handle over. */
    if (atomic_exchange_explicit(&handle->listed, true, memory_order_acq_rel))
        return;
    if (!tic_handle_append(&slot->dirty[epoch & 1], handle))
        slot->failed = true;
    atomic_store_explicit(&slot->dirtied,
                          atomic_load_explicit(&slot->dirtied, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void tic_cut_note_done(struct tic_slot *slot, struct tic_sequence_list *list)
{
    void *grown = tic_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));
    if (!grown) {
        slot->failed = true;
        return;
    }
    list->items = grown;
    list->items[list->count++] = slot->sequence;
}

uint64_t tic_cut_raise(struct tic_cut *cut)
{
    uint64_t taken = atomic_load(&cut->epoch);
    atomic_store(&cut->active_cut, taken);
    atomic_store(&cut->epoch, taken + 1);
    return taken;
}

static bool is_in_cut(uint64_t state, uint64_t taken)
{
    return state != TIC_SLOT_IDLE && state / 4 <= taken;
}

bool tic_cut_has_entered(struct tic_cut *cut, uint64_t taken)
{
    for (unsigned i = 0; i < cut->slot_count; i++) {
        uint64_t state = atomic_load(&cut->slots[i].state);
        if (is_in_cut(state, taken) && state % 4 == TIC_SLOT_ENTERING)
            return false;
    }
    return true;
}

bool tic_cut_has_ended(struct tic_cut *cut, uint64_t taken)
{
    for (unsigned i = 0; i < cut->slot_count; i++)
        if (is_in_cut(atomic_load(&cut->slots[i].state), taken))
            return false;
    return true;
}

void tic_cut_finish(struct tic_cut *cut)
{
    atomic_store(&cut->active_cut, 0);
}

uint64_t tic_cut_count_executed(const struct tic_cut *cut)
{
    uint64_t executed = 0;

    for (unsigned i = 0; i < cut->slot_count; i++)
        executed += atomic_load_explicit(&cut->slots[i].executed, memory_order_relaxed);
    return executed;
}

uint64_t tic_cut_held_time(const struct tic_cut *cut)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < cut->slot_count; i++)
        held += atomic_load_explicit(&cut->slots[i].held.ns, memory_order_relaxed);
    return held;
}

bool tic_cut_is_idle(const struct tic_cut *cut)
{
    bool idle = true;

    for (unsigned i = 0; i < cut->slot_count && idle; i++)
        idle = atomic_load(&cut->slots[i].state) == TIC_SLOT_IDLE;
    return idle;
}
