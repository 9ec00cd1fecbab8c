/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cut: which tasks started before instant t0, without stopping anyone. */
#include "snapshot/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- slots ---------------------------------------------------------------------------------- */

static int add_chunk(struct tic_cut *cut, unsigned number)
{
    struct tic_slot *chunk = aligned_alloc(128, TIC_CUT_CHUNK * sizeof(*chunk));

    if (!chunk)
        return -ENOMEM;
    memset(chunk, 0, TIC_CUT_CHUNK * sizeof(*chunk));
    for (unsigned i = 0; i < TIC_CUT_CHUNK; i++)
        chunk[i].number = number * TIC_CUT_CHUNK + i;
    cut->chunks[number] = chunk;
    return 0;
}

int tic_cut_init(struct tic_cut *cut, unsigned slots)
{
    int status = 0;

    memset(cut, 0, sizeof(*cut));
    atomic_store(&cut->epoch, 1);
    pthread_mutex_init(&cut->mutex, NULL);
    for (unsigned i = 0; i * TIC_CUT_CHUNK < slots && status == 0; i++)
        status = add_chunk(cut, i);
    if (status == 0)
        atomic_store(&cut->slot_count, slots);
    return status;
}

static void clear(struct tic_slot *slot)
{
    for (unsigned parity = 0; parity < 2; parity++) {
        free(slot->ended[parity].items);
        free(slot->dirty[parity].items);
    }
    free(slot->writing.items);
    free(slot->arguments_before);
    free(slot->result);
}

void tic_cut_fini(struct tic_cut *cut)
{
    for (unsigned i = 0; i < atomic_load(&cut->slot_count); i++)
        clear(tic_cut_slot(cut, i));
    for (unsigned i = 0; i < TIC_CUT_CHUNKS; i++)
        free(cut->chunks[i]);
    free(cut->spare);
    pthread_mutex_destroy(&cut->mutex);
    memset(cut->chunks, 0, sizeof(cut->chunks));
    atomic_store(&cut->slot_count, 0);
}

/* The mutex is held. NULL: no memory. */
static struct tic_slot *add_slot(struct tic_cut *cut)
{
    unsigned number = atomic_load(&cut->slot_count), chunk = number / TIC_CUT_CHUNK;

    if (chunk == TIC_CUT_CHUNKS || tic_reserve(cut->spare, cut->spare_capacity, number + 1) != 0 ||
        (!cut->chunks[chunk] && add_chunk(cut, chunk) != 0))
        return NULL;
    atomic_store(&cut->slot_count, number + 1);
    return tic_cut_slot(cut, number);
}

struct tic_slot *tic_cut_take_spare(struct tic_cut *cut)
{
    pthread_mutex_lock(&cut->mutex);
    struct tic_slot *slot = cut->spare_count > 0 ? cut->spare[--cut->spare_count] : add_slot(cut);
    pthread_mutex_unlock(&cut->mutex);
    return slot;
}

void tic_cut_give_back(struct tic_cut *cut, struct tic_slot *slot)
{
    pthread_mutex_lock(&cut->mutex);
    cut->spare[cut->spare_count++] = slot;
    pthread_mutex_unlock(&cut->mutex);
}

int tic_cut_start(struct tic_cut *cut, unsigned workers)
{
    unsigned count = atomic_load(&cut->slot_count);

    for (unsigned i = 0; i < count; i++)
        if (atomic_load(&tic_cut_slot(cut, i)->state) != TIC_SLOT_IDLE)
            tic_cut_end(tic_cut_slot(cut, i));
    if (tic_reserve(cut->spare, cut->spare_capacity, count) != 0)
        return -ENOMEM;
    cut->spare_count = 0;
    for (unsigned i = count; i > workers; i--)
        cut->spare[cut->spare_count++] = tic_cut_slot(cut, i - 1);
    return 0;
}

/* ---- a worker -------------------------------------------------------------------------------- */

void tic_cut_await_noted(struct tic_handle *handle)
{
    tic_lock(&handle->saving.lock);
    tic_unlock(&handle->saving.lock);
}

void tic_cut_note_writing(struct tic_slot *slot, struct tic_handle *handle)
{
    if (!tic_handle_append(&slot->writing, handle))
        slot->failed = true;
}

void tic_cut_note_dirty(struct tic_slot *slot, uint64_t epoch, struct tic_handle *handle)
{
    atomic_store_explicit(&handle->saving.dirty_since, epoch, memory_order_release);
    /* acq_rel: when the handle is listed for the active cut still, the checkpoint thread, which
     * clears the flag after us, sees the new dirty_since and carries the handle over. */
    if (atomic_exchange_explicit(&handle->saving.listed, true, memory_order_acq_rel))
        return;
    if (!tic_handle_append(&slot->dirty[epoch & 1], handle))
        slot->failed = true;
    atomic_store_explicit(&slot->dirtied,
                          atomic_load_explicit(&slot->dirtied, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void tic_cut_note_done(struct tic_slot *slot, struct tic_sequence_list *list)
{
    const uint64_t sequence = slot->sequence;

    if (tic_append(list->items, list->count, list->capacity, &sequence) != 0)
        slot->failed = true;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

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
    for (unsigned i = 0; i < atomic_load(&cut->slot_count); i++) {
        uint64_t state = atomic_load(&tic_cut_slot(cut, i)->state);
        if (is_in_cut(state, taken) && state % 4 == TIC_SLOT_ENTERING)
            return false;
    }
    return true;
}

bool tic_cut_has_ended(struct tic_cut *cut, uint64_t taken)
{
    for (unsigned i = 0; i < atomic_load(&cut->slot_count); i++)
        if (is_in_cut(atomic_load(&tic_cut_slot(cut, i)->state), taken))
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

    for (unsigned i = 0; i < atomic_load(&cut->slot_count); i++)
        executed += atomic_load_explicit(&tic_cut_slot(cut, i)->executed, memory_order_relaxed);
    return executed;
}

uint64_t tic_cut_held_time(const struct tic_cut *cut)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < atomic_load(&cut->slot_count); i++)
        held += atomic_load_explicit(&tic_cut_slot(cut, i)->held.ns, memory_order_relaxed);
    return held;
}

bool tic_cut_is_idle(const struct tic_cut *cut)
{
    bool idle = true;

    for (unsigned i = 0; i < atomic_load(&cut->slot_count) && idle; i++)
        idle = atomic_load(&tic_cut_slot(cut, i)->state) == TIC_SLOT_IDLE;
    return idle;
}
