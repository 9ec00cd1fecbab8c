/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Saving values: copy on write by workers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/thread.h"
#include "base/trace.h"
#include "graph/family.h"
#include "snapshot/provide.h"
#include "snapshot/save.h"
#include "snapshot/suspend.h"
#include "store/held.h"

/* How often a worker that waits for a counted cut looks whether anything moves, and how often in
 * vain. */
enum { COUNT_PATIENCE = 25 };
enum { VAIN_MOST = 4 }; /* waits for main() that were in vain: it waits in ways of its own */
#define COUNT_POLL 0.02 /* seconds */

/* The checkpoint thread copies what an image holds as soon as it can, and writes what is much. */
static void wake_for_held(struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    bool image = snapshot->options.image_least > 0 &&
                 tic_shape_bytes(shape) >= snapshot->options.image_least;

    if (image || tic_held_is_much(&snapshot->store->rows))
        tic_snapshot_wake(snapshot);
}

/* why: what keeps it from being written, so that it is to be held in memory (-EINPROGRESS: it may
 * take long, so it is held if there is room; -EALREADY: the same, and no task can begin to write it
 * meanwhile; -EINTR: the same, and the layout's `stop` ends it); else 0. */
static int write_or_hold(struct tic_snapshot *snapshot, const struct tic_layout *layout, int why,
                         struct tic_saved *saved)
{
    if (why == -EINPROGRESS || why == -EALREADY || why == -EINTR) {
        int status = tic_held_save(&snapshot->store->rows, layout, why == -EALREADY, saved);
        wake_for_held(snapshot, &layout->shape);
        if (status != -ENOBUFS && status != -ENOMEM)
            return status;
        why = 0;
    }
    return why ? tic_snapshot_hold_value(snapshot, layout, why, saved)
               : tic_store_save(snapshot->store, layout, saved);
}

/* main() has given the memory away that it still has registered: nobody can use it any more. */
static int save_nothing(struct tic_snapshot *snapshot, const struct tic_shape *shape, int why,
                        struct tic_saved *saved)
{
    char *zeros = calloc(1, tic_shape_bytes(shape));
    struct tic_layout layout = tic_layout_packed(shape, zeros);
    int status = zeros ? write_or_hold(snapshot, &layout, why, saved) : -ENOMEM;

    free(zeros);
    return status;
}

int tic_save_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why,
                          struct tic_saved *saved)
{
    struct tic_layout packed = {.stride = {1}};

    if ((!handle->packer && !handle->layout.base) || atomic_load(&handle->movable.stale))
        return -EINVAL; /* nobody knows where it is: a row of nothing must not look like a value */
    if (!handle->packer) {
        struct tic_layout layout = handle->layout;
        /* Tasks that write what shares its memory may run: their values, which are later, will
         * cover what they change. main() may be at it, too (verify.h), and the next task where the
         * end hook of its writer comes late. */
        layout.unsteady = handle->imaged || atomic_load(&handle->saving.writers) > 0 ||
                          atomic_load_explicit(&handle->shares, memory_order_acquire);
        layout.stop = why == -EINTR ? &handle->saving.wanted : NULL;
        if (handle->home_node >= 0 && !tic_handle_is_there(handle))
            return save_nothing(snapshot, &layout.shape, why, saved);
        int written = write_or_hold(snapshot, &layout, why, saved);
        return written == -EFAULT ? save_nothing(snapshot, &layout.shape, why, saved) : written;
    }
    int status = handle->packer->pack(handle, &packed.base, &packed.shape);
    if (status)
        return status;
    const uint64_t size = tic_shape_bytes(&packed.shape);
    if (!tic_shape_same(&packed.shape, &handle->layout.shape))
        handle->layout.shape = packed.shape; /* so many bytes are asked for if no row is free */
    status = size == 0 ? -EIO : write_or_hold(snapshot, &packed, why, saved);
    handle->packer->release(packed.base, size);
    return status;
}

static void note_saved_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              const struct tic_saved *saved, uint64_t calls)
{
    if (handle->imaged)
        tic_verify_note_saved_locked(snapshot, handle, saved, calls);
    tic_handle_note_saved_locked(handle, saved, atomic_load(&snapshot->cut.active_cut));
}

int tic_save_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    uint64_t calls = atomic_load(&snapshot->graph->calls);
    struct tic_saved saved;
    int status = tic_save_value_locked(snapshot, handle, why, &saved);

    if (status)
        return status;
    note_saved_locked(snapshot, handle, &saved, calls);
    tic_rows_settle(&snapshot->store->rows, saved.row);
    return 0;
}

/* save_locked, where a task may begin to write meanwhile that no active cut holds up: -EBUSY, and
 * nothing is noted, for what was copied may be half of one value and half of the next. */
static int save_beside_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              uint32_t writers, int why, struct tic_saved *saved)
{
    uint64_t calls = atomic_load(&snapshot->graph->calls);
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);
    int status = tic_save_value_locked(snapshot, handle, why, saved);

    if (status)
        return status;
    atomic_store(&handle->saving.noting, true);
    if (atomic_load(&handle->saving.writers) == writers &&
        atomic_load_explicit(&handle->saving.version, memory_order_relaxed) == version)
        note_saved_locked(snapshot, handle, saved, calls);
    else
        status = -EBUSY;
    atomic_store(&handle->saving.noting, false);
    tic_rows_settle(&snapshot->store->rows, saved->row);
    return status;
}

int tic_snapshot_save_own_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    struct tic_saved saved;

    return save_beside_locked(snapshot, handle, 1, 0, &saved);
}

int tic_save_beside_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    struct tic_saved saved;

    return save_beside_locked(snapshot, handle, 0, why, &saved);
}

/* Tasks do not wait while a value is compressed and written: they may change it as soon as it is
 * copied. */
int tic_snapshot_save_later_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                   struct tic_row *held)
{
    struct tic_saved saved;
    int status = save_beside_locked(snapshot, handle, 0, -EINTR, &saved);

    if (status == -EINTR) /* who wants it may be about to save it, or to change it */
        status = -EBUSY;
    held->extent = TIC_NO_EXTENT;
    if (status == 0 && saved.row.extent == TIC_HELD_EXTENT)
        *held = saved.row;
    return status;
}

bool tic_save_lock(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    tic_lock(&snapshot->graph->lock);
    if (tic_handle_is_gone(handle, cut)) {
        tic_unlock(&snapshot->graph->lock);
        return false;
    }
    tic_lock(&handle->saving.lock);
    tic_unlock(&snapshot->graph->lock);
    return true;
}

bool tic_save_is_needed(struct tic_handle *handle, uint64_t cut)
{
    return tic_handle_is_due(handle, cut) || tic_handle_is_unchecked(handle, cut);
}

void tic_save_due(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                  bool steady)
{
    bool stale = tic_family_is_stale(snapshot->graph, handle);
    int status = 0;

    do {
        if (status == -EAGAIN)
            status = tic_snapshot_want_row(snapshot, handle);
        tic_lock(
            &handle->saving.lock); /* also for a lost cut: the value may be being saved right now */
        if (tic_snapshot_is_lost(snapshot, cut))
            status = 0;
        else if (!tic_handle_is_due(handle, cut))
            tic_verify_check_locked(snapshot, handle, cut, stale);
        else if (status == 0) {
            status = tic_save_locked(snapshot, handle, steady ? -EALREADY : -EINPROGRESS);
            if (status == 0) /* it is about to change */
                atomic_store(&handle->saving.checked, cut);
        }
        if (status && status != -EAGAIN)
            tic_snapshot_lose_cut(snapshot, cut, status);
        tic_unlock(&handle->saving.lock);
    } while (status == -EAGAIN);
    if (status == -ETIME) /* the checkpoint thread may not be able to say so */
        tic_snapshot_suspend_once(snapshot, status);
}

static void add(_Atomic uint64_t *sum, _Atomic uint64_t *most, uint64_t nanoseconds)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + nanoseconds,
                          memory_order_relaxed);
    if (nanoseconds > atomic_load_explicit(most, memory_order_relaxed))
        atomic_store_explicit(most, nanoseconds, memory_order_relaxed);
}

static void note_held(struct tic_held *held, uint64_t nanoseconds, uint64_t on_processor)
{
    unsigned class = 0;

    while (class < TIC_HELD_CLASSES - 1 && nanoseconds >= UINT64_C(1000) << class)
        class ++;
    add(&held->ns, &held->max_ns, nanoseconds);
    add(&held->cpu_ns, &held->cpu_max_ns, on_processor);
    atomic_store_explicit(&held->times[class],
                          atomic_load_explicit(&held->times[class], memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void copy_on_write(struct tic_snapshot *snapshot, struct tic_slot *slot,
                          struct tic_handle *handle)
{
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    uint64_t on_processor = tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID);

    if (cut != 0 && !tic_snapshot_is_broken(snapshot))
        tic_save_due(snapshot, handle, cut, false);
    uint64_t end = tic_nanoseconds(CLOCK_MONOTONIC);
    note_held(&slot->held, end - start, tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - on_processor);
    if (tic_trace_is_on())
        tic_trace_stall(slot->number, start, end);
    tic_failpoint(TIC_FAIL_COPY_ON_WRITE);
}

/* What shares memory with the handle changes, too. */
static void copy_overlapping(struct tic_snapshot *snapshot, struct tic_slot *slot, uint64_t epoch,
                             struct tic_handle *handle)
{
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);
    unsigned long count = 0;

    if (cut == 0 || epoch <= cut)
        return;
    struct tic_handle **due = tic_family_due(snapshot->graph, handle, cut, &count);
    tic_snapshot_need(snapshot, due || count == 0);
    for (unsigned long i = 0; due && i < count; i++)
        copy_on_write(snapshot, slot, due[i]);
    free(due);
}

void tic_snapshot_save_before(struct tic_snapshot *snapshot, struct tic_slot *slot, uint64_t epoch,
                              struct tic_handle *handle)
{
    /* Our kernel has not begun, and StarPU lets nobody else write now: the value is complete even
     * if the end hook of its writer is still to come. */
    if (tic_cut_must_copy(&snapshot->cut, epoch, handle))
        copy_on_write(snapshot, slot, handle);
    if (atomic_load_explicit(&handle->shares, memory_order_acquire))
        copy_overlapping(snapshot, slot, epoch, handle);
}

/* The cut before may wait for tasks that wait for what this worker has to run next: because they
 * end late (end dependencies), or meet other tasks at a barrier of their own; or for values that it
 * has to bring to main memory. */
static bool may_block(struct tic_snapshot *snapshot, unsigned idle)
{
    /* The cut waits for main(), which may wait for this task in a way of its own. */
    bool waits =
        atomic_load(&snapshot->verify.settling) || atomic_load(&snapshot->verify.quiescent);
    uint64_t calls = atomic_load(&snapshot->graph->calls);

    /* A quiescent line waits for callbacks, which may be this task's. */
    if (atomic_load(&snapshot->verify.quiescent) &&
        atomic_load(&snapshot->graph->callbacks_open) > 0)
        return true;
    /* Once it was in vain: not again before main() comes to StarPU. */
    if (waits && (idle > COUNT_PATIENCE || snapshot->control.vain_calls == calls + 1 ||
                  snapshot->control.vain_count >= VAIN_MOST)) {
        snapshot->control.vain_count += snapshot->control.vain_calls != calls + 1;
        snapshot->control.vain_calls = calls + 1;
        return true;
    }
    if (atomic_load(&snapshot->window.open)) /* it brings values to main memory */
        return true;
    return atomic_load(&snapshot->cut.active_cut) != 0 &&
           (idle > COUNT_PATIENCE || snapshot->options.other_memory.written ||
            atomic_load_explicit(&snapshot->late_ends, memory_order_relaxed));
}

/* Counted checkpoints are exact: who reaches the count waits until the cut is taken, but not where
 * nothing moves meanwhile, and not for a checkpoint thread that does not answer. */
static void count_task(struct tic_snapshot *snapshot)
{
    uint64_t ended = atomic_fetch_add_explicit(&snapshot->ended, 1, memory_order_relaxed) + 1;
    uint64_t seen = ended;
    unsigned most = (unsigned)(snapshot->options.patience / COUNT_POLL) + 1;

    if (ended % snapshot->options.every != 0)
        return;
    if (atomic_load_explicit(&snapshot->point.usable, memory_order_relaxed)) {
        tic_snapshot_wake(snapshot); /* the cut waits for main(), and main() for this task */
        return;
    }
    tic_lock(&snapshot->lock);
    pthread_cond_signal(&snapshot->wake);
    for (unsigned idle = 0;
         snapshot->control.counted < ended / snapshot->options.every && !snapshot->control.exited &&
         snapshot->control.retry_ns == 0 && !snapshot->control.silent && !may_block(snapshot, idle);
         idle++) {
        struct timespec until = tic_after(COUNT_POLL);
        pthread_cond_timedwait(&snapshot->served, &snapshot->lock.mutex, &until);
        uint64_t now = atomic_load_explicit(&snapshot->ended, memory_order_relaxed);
        if (now != seen)
            idle = 0;
        seen = now;
        snapshot->control.silent |= idle > most;
    }
    bool silent = snapshot->control.silent;
    tic_unlock(&snapshot->lock);
    if (silent)
        tic_snapshot_suspend_once(snapshot, -ETIME);
}

void tic_snapshot_task_end(struct tic_snapshot *snapshot, struct tic_slot *slot)
{
    bool settling = atomic_load(&snapshot->verify.settling);

    for (unsigned long i = 0; __builtin_expect(settling, 0) && i < slot->writing.count; i++)
        tic_verify_note_result(snapshot, slot->writing.items[i]);
    uint64_t epoch = tic_cut_end(slot);
    bool wake = atomic_load_explicit(&snapshot->cut.active_cut, memory_order_relaxed) >= epoch;

    tic_snapshot_need(snapshot, !slot->failed);
    if (__builtin_expect(wake, 0)) {
        tic_snapshot_wake(snapshot);
    }
    if (snapshot->options.every > 0)
        count_task(snapshot);
}
