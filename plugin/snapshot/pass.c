/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of a cut, saved by several threads of ours while tasks go on. */
#include <errno.h>

#include "base/pool.h"
#include "snapshot/provide.h"
#include "snapshot/save.h"
#include "snapshot/suspend.h"
#include "snapshot/window.h"
#include "store/held.h"

/* 0 saved or not needed; -EBUSY a task of the cut writes it, or has begun to; -EAGAIN no row is
 * free; else -errno. Any thread. */
static int save_here(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    struct tic_row held = {.extent = TIC_NO_EXTENT};
    int status = 0;

    /* What is gone before the cut has left its value to a parent, or is pinned and saved. */
    if (!tic_handle_is_due(handle, cut) || !tic_save_lock(snapshot, handle, cut))
        return 0;
    if (tic_snapshot_is_lost(snapshot, cut))
        status = -ECANCELED; /* who lost it may be changing the value */
    else if (!tic_handle_is_due(handle, cut))
        status = 0;
    else if (atomic_load_explicit(&handle->saving.writers, memory_order_acquire) > 0)
        status = -EBUSY;
    else
        status = tic_snapshot_save_later_locked(snapshot, handle, &held);
    tic_unlock(&handle->saving.lock);
    if (held.extent == TIC_HELD_EXTENT) {
        int written = tic_held_write(snapshot->store, held);
        status = status ? status : written;
    }
    return status;
}

/* ---- data that may be elsewhere -------------------------------------------------------------- */

/* Asks for an access once; the value is saved when it is granted. */
static void ask(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    if (!tic_save_lock(snapshot, handle, cut))
        return;
    bool asks = tic_window_claim_locked(snapshot, handle);
    tic_unlock(&handle->saving.lock);
    if (asks)
        snapshot->options.other_memory.ask(&handle, 1);
}

void tic_snapshot_save_granted(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);

    tic_window_granted(snapshot, handle);
    if (cut == 0 || tic_snapshot_is_broken(snapshot))
        return;
    int status = save_here(snapshot, handle, cut);
    if (status == -EAGAIN)
        atomic_store_explicit(&handle->movable.lacks_row, true, memory_order_relaxed);
    else if (status && status != -EBUSY && status != -ECANCELED)
        tic_snapshot_lose_cut(snapshot, cut, status);
    tic_snapshot_wake(snapshot);
}

/* 0 saved or not needed; -EBUSY a task of the cut writes it, or has begun to, or StarPU has been
 * asked for it; -EAGAIN no row is free; else -errno. Any thread. */
static int try_save(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    if (__builtin_expect(!handle->movable.may, 1))
        return save_here(snapshot, handle, cut);
    if (tic_snapshot_is_lost(snapshot, cut))
        return -ECANCELED;
    if (atomic_exchange_explicit(&handle->movable.lacks_row, false, memory_order_relaxed))
        return -EAGAIN;
    if (!tic_handle_is_due(handle, cut))
        return 0;
    ask(snapshot, handle, cut);
    return tic_handle_is_due(handle, cut) ? -EBUSY : 0;
}

/* The same, with a new segment if no row is free. */
static int try_save_providing(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              uint64_t cut)
{
    int status;

    while ((status = try_save(snapshot, handle, cut)) == -EAGAIN) {
        struct tic_demand demand = {handle->layout.shape, 1};
        bool known = tic_rows_total(&snapshot->store->rows, &demand.shape) > 0;
        status = known ? 0 : tic_provide_dirty(snapshot);
        status = status ? status : tic_store_provide(snapshot->store, &demand, 1);
        if (status)
            return status;
    }
    return status;
}

/* Handles that several threads try to save, and what comes of each. */
enum { SHARED_AT_ONCE = 1024 };

struct share {
    struct tic_snapshot *snapshot;
    uint64_t cut;
    struct tic_handle **handles;
    int statuses[SHARED_AT_ONCE];
};

static void try_save_shared(void *arg, unsigned long i)
{
    struct share *share = arg;

    share->statuses[i] = try_save(share->snapshot, share->handles[i], share->cut);
}

/* A worker must not wait for many values. */
static void serve_meanwhile(void *arg)
{
    const struct share *share = arg;

    tic_snapshot_serve_requests(share->snapshot);
}

int tic_save_pass(struct tic_snapshot *snapshot, struct tic_handle **handles, uint64_t cut,
                  unsigned long *left)
{
    struct share share = {.snapshot = snapshot, .cut = cut};
    unsigned long busy = 0, count;
    int status = 0;

    for (unsigned long from = 0; from < *left && status == 0; from += count) {
        count = *left - from < SHARED_AT_ONCE ? *left - from : SHARED_AT_ONCE;
        share.handles = &handles[from];
        tic_pool_run(&snapshot->cycle.savers, count, try_save_shared, serve_meanwhile, &share);
        for (unsigned long i = 0; i < count && status == 0; i++) {
            struct tic_handle *handle = share.handles[i];
            status = share.statuses[i];
            if (status == -EAGAIN) {
                status = try_save_providing(snapshot, handle, cut);
                tic_snapshot_serve_requests(snapshot);
            }
            if (status == -EBUSY) {
                share.handles[i] = handles[busy];
                handles[busy++] = handle;
                status = 0;
            }
        }
    }
    *left = busy;
    return status;
}
