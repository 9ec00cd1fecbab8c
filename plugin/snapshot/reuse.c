/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of results that were replaced, used again. */
#include "snapshot/reuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/rows.h"

void tic_reuse_init(struct tic_reuse *reuse)
{
    memset(reuse, 0, sizeof(*reuse));
    atomic_store(&reuse->clock, 1);
    tic_lock_init(&reuse->lock, TIC_RANK_REUSE);
}

void tic_reuse_fini(struct tic_reuse *reuse)
{
    free(reuse->waiting);
    tic_lock_fini(&reuse->lock);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

void tic_reuse_note_begin(struct tic_reuse *reuse, struct tic_slot *slot)
{
    atomic_store(&slot->reuse_clock, atomic_load(&reuse->clock));
}

/* The epoch of the use is no later: a line of this cut has it. */
void tic_reuse_note_use(struct tic_handle *handle, const struct tic_cut *cut)
{
    uint64_t epoch = atomic_load(&cut->epoch);
    uint64_t before = atomic_load_explicit(&handle->saving.used_again, memory_order_relaxed);

    while (before < epoch &&
           !atomic_compare_exchange_weak_explicit(&handle->saving.used_again, &before, epoch,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void tic_reuse_exclude(struct tic_handle *handle)
{
    atomic_store_explicit(&handle->saving.used_again, UINT64_MAX, memory_order_relaxed);
}

void tic_reuse_stop(struct tic_reuse *reuse)
{
    atomic_store(&reuse->off, true);
}

/* ---- values --------------------------------------------------------------------------------- */

/* A value whose successor belongs to the same epoch is defined by no cut. */
bool tic_reuse_find_locked(struct tic_reuse *reuse, const struct tic_cut *cut,
                           struct tic_rows *rows, const struct tic_handle *handle,
                           struct tic_replaced *replaced)
{
    const struct tic_value *value = &handle->saving.current;
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);

    if (!value->exists || !value->is_result || atomic_load(&cut->active_cut) != 0 ||
        value->since != atomic_load_explicit(&handle->saving.dirty_since, memory_order_relaxed) ||
        value->version + 1 != version ||
        atomic_load_explicit(&handle->saving.used_again, memory_order_relaxed) >
            atomic_load_explicit(&reuse->committed, memory_order_relaxed))
        return false;
    replaced->row = value->saved.row;
    replaced->sweeps = tic_rows_sweeps(rows);
    return replaced->sweeps % 2 == 0;
}

/* No task that runs began before. */
static uint64_t find_oldest(const struct tic_cut *cut)
{
    uint64_t oldest = UINT64_MAX;

    for (unsigned i = 0; i < cut->slot_count; i++) {
        struct tic_slot *slot = tic_cut_slot(cut, i);
        uint64_t clock = atomic_load(&slot->reuse_clock);
        if (atomic_load(&slot->state) != TIC_SLOT_IDLE && clock < oldest)
            oldest = clock;
    }
    return oldest;
}

static void append_locked(struct tic_reuse *reuse, const struct tic_replaced *replaced)
    TIC_REQUIRES(reuse->lock)
{
    if (reuse->first > reuse->count / 2) {
        reuse->count -= reuse->first;
        memmove(reuse->waiting, reuse->waiting + reuse->first,
                reuse->count * sizeof(*reuse->waiting));
        reuse->first = 0;
    }
    tic_append(reuse->waiting, reuse->count, reuse->capacity, replaced); /* else the next line frees
                                                                            the row */
}

static void release_locked(struct tic_reuse *reuse, const struct tic_cut *cut,
                           struct tic_rows *rows) TIC_REQUIRES(reuse->lock)
{
    uint64_t oldest = find_oldest(cut);

    /* A task sets this before it is seen to have ended. */
    if (atomic_load(&reuse->off))
        return;
    for (; reuse->first < reuse->count && reuse->waiting[reuse->first].clock < oldest;
         reuse->first++) {
        const struct tic_replaced *replaced = &reuse->waiting[reuse->first];
        uint64_t bytes = tic_rows_release(rows, replaced->row, replaced->sweeps);
        atomic_fetch_add_explicit(&reuse->freed, bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&reuse->rows, bytes > 0, memory_order_relaxed);
    }
    reuse->looked = reuse->count - reuse->first;
}

/* The slots are looked at once for as many rows as there are slots, but often enough where there
 * are very many. */
static bool is_time_locked(const struct tic_reuse *reuse, const struct tic_cut *cut)
    TIC_REQUIRES(reuse->lock)
{
    unsigned slots = cut->slot_count;

    return reuse->count - reuse->first >=
           reuse->looked + (slots < TIC_MAX_WORKERS ? slots : TIC_MAX_WORKERS);
}

void tic_reuse_add(struct tic_reuse *reuse, const struct tic_cut *cut, struct tic_rows *rows,
                   struct tic_replaced *replaced, unsigned count)
{
    if (count == 0 || atomic_load_explicit(&reuse->off, memory_order_relaxed))
        return;
    tic_lock(&reuse->lock);
    for (unsigned i = 0; i < count; i++) {
        replaced[i].clock = atomic_fetch_add(&reuse->clock, 1);
        append_locked(reuse, &replaced[i]);
    }
    if (is_time_locked(reuse, cut))
        release_locked(reuse, cut, rows);
    tic_unlock(&reuse->lock);
}

/* ---- what lines are taken for ---------------------------------------------------------------- */

/* Rows that are replaced before a line is tried, and free after, count too much for once. */
static uint64_t difference(struct tic_reuse *reuse, uint64_t stored)
{
    uint64_t freed = atomic_load_explicit(&reuse->freed, memory_order_relaxed);

    return stored > freed ? stored - freed : 0;
}

uint64_t tic_reuse_volume(struct tic_reuse *reuse)
{
    return difference(reuse, atomic_load_explicit(&reuse->stored, memory_order_relaxed));
}

uint64_t tic_reuse_add_volume(struct tic_reuse *reuse, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add_explicit(&reuse->stored, bytes, memory_order_relaxed);

    return difference(reuse, before + bytes);
}

void tic_reuse_begin_volume(struct tic_reuse *reuse)
{
    atomic_store_explicit(&reuse->stored, 0, memory_order_relaxed);
    atomic_store_explicit(&reuse->freed, 0, memory_order_relaxed);
}
