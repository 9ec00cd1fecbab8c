/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Saving values: copy on write by workers, and by the owner thread at structural changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "graph/family.h"
#include "snapshot/suspend.h"
#include "store/held.h"

/* How often a worker that waits for a counted cut looks whether anything moves, and how often in
 * vain. */
enum { COUNT_PATIENCE = 25 };
enum { VAIN_MOST = 4 }; /* waits for main() that were in vain: it waits in ways of its own */
#define COUNT_POLL 0.02 /* seconds */

enum { SEGMENT_BYTES = 64 << 20, MOST_ROWS = 4096 };

/* ---- rows on request ------------------------------------------------------------------------ */

/* SEL needs a row for every task that ends: a segment is for many. */
static uint64_t rows_at_once(const struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    uint64_t rows = SEGMENT_BYTES / (tic_shape_bytes(shape) + 1) + 1;

    return !snapshot->log_all ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
}

bool tic_snapshot_await_locked(struct tic_snapshot *snapshot, const struct timespec *until)
{
    return pthread_cond_timedwait(&snapshot->served, &snapshot->lock.mutex, until) != ETIMEDOUT;
}

/* Not on the checkpoint thread. 0 when rows may be free now; -ECANCELED when it ends; -ETIME when
 * it does not answer. */
static int request_rows(struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    struct timespec until = tic_after(snapshot->patience);
    struct tic_row_request *request = calloc(1, sizeof(*request));
    int status = !request ? -ENOMEM : 0;

    tic_lock(&snapshot->lock);
    if (snapshot->exited || tic_snapshot_is_broken(snapshot))
        status = -ECANCELED;
    else if (snapshot->silent)
        status = -ETIME;
    if (status) {
        tic_unlock(&snapshot->lock);
        free(request);
        return status;
    }
    request->demand = (struct tic_demand){*shape, rows_at_once(snapshot, shape)};
    request->next = snapshot->requests;
    snapshot->requests = request;
    atomic_store(&snapshot->store->hurry, true);
    pthread_cond_signal(&snapshot->wake);
    while (!request->done && tic_snapshot_await_locked(snapshot, &until))
        ;
    request->left = !request->done;
    snapshot->silent |= request->left;
    status = request->left ? -ETIME : request->status;
    if (!request->left)
        free(request);
    tic_unlock(&snapshot->lock);
    return status;
}

int tic_snapshot_want_row(struct tic_snapshot *snapshot, const struct tic_handle *handle)
{
    return request_rows(snapshot, &handle->layout.shape);
}

int tic_snapshot_want_log(struct tic_snapshot *snapshot)
{
    struct timespec until = tic_after(snapshot->patience);

    tic_lock(&snapshot->lock);
    snapshot->log_wanted = true;
    atomic_store(&snapshot->store->hurry, true);
    pthread_cond_signal(&snapshot->wake);
    while (snapshot->log_wanted && !snapshot->exited && !snapshot->silent &&
           tic_snapshot_await_locked(snapshot, &until))
        ;
    snapshot->silent |= snapshot->log_wanted && !snapshot->exited;
    int status = snapshot->exited       ? -ECANCELED
                 : snapshot->log_wanted ? -ETIME
                                        : snapshot->log_status;
    tic_unlock(&snapshot->lock);
    return status;
}

static void serve_log(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool wanted = snapshot->log_wanted;
    tic_unlock(&snapshot->lock);
    if (!wanted)
        return;
    int status = tic_eventlog_provide(&snapshot->log);
    tic_lock(&snapshot->lock);
    snapshot->log_wanted = false;
    snapshot->log_status = status;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}

void tic_snapshot_serve_requests(struct tic_snapshot *snapshot)
{
    serve_log(snapshot);
    tic_lock(&snapshot->lock);
    while (snapshot->requests) {
        struct tic_row_request *request = snapshot->requests;
        snapshot->requests = request->next;
        bool exited = snapshot->exited;
        tic_unlock(&snapshot->lock);
        int status = exited || tic_snapshot_is_broken(snapshot) ? -ECANCELED
                     : tic_rows_available(&snapshot->store->rows, &request->demand.shape) > 0
                         ? 0 /* another request came first */
                         : tic_store_provide(snapshot->store, &request->demand, 1);
        tic_lock(&snapshot->lock);
        request->status = status;
        request->done = true;
        if (request->left)
            free(request);
        pthread_cond_broadcast(&snapshot->served);
    }
    snapshot->silent = false;
    atomic_store(&snapshot->store->hurry, snapshot->stopping || snapshot->log_wanted);
    tic_unlock(&snapshot->lock);
}

/* ---- one handle ----------------------------------------------------------------------------- */

/* The checkpoint thread copies what an image holds as soon as it can. */
static void wake_for_image(struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    if (snapshot->image_least == 0 || tic_shape_bytes(shape) < snapshot->image_least)
        return;
    tic_snapshot_wake(snapshot);
}

/* why: what keeps it from being written, so that it is to be held in memory (-EINPROGRESS: it may
 * take long, so it is held if there is room; -EALREADY: the same, and no task can begin to write it
 * meanwhile); else 0. */
static int write_or_hold(struct tic_snapshot *snapshot, const struct tic_layout *layout, int why,
                         struct tic_saved *saved)
{
    if (why == -EINPROGRESS || why == -EALREADY) {
        int status = tic_held_save(snapshot->store, layout, why == -EALREADY, saved);
        wake_for_image(snapshot, &layout->shape);
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

/* Writes the value to a free row, which stays busy. 0; -EAGAIN no free row; other -errno. */
static int save_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why,
                             struct tic_saved *saved)
{
    struct tic_layout packed = {.stride = {1}};
    uint64_t size;

    if (!handle->packer && !handle->layout.base)
        return -EINVAL; /* nobody knows where it is: a row of nothing must not look like a value */
    if (!handle->packer) {
        struct tic_layout layout = handle->layout;
        /* Tasks that write what shares its memory may run: their values, which are later, will
         * cover what they change. main() may be at it, too (verify.h), and the next task where the
         * end hook of its writer comes late. */
        layout.unsteady = handle->imaged || atomic_load(&handle->writers) > 0 ||
                          atomic_load_explicit(&handle->shares, memory_order_acquire);
        if (handle->set_aside)
            layout = tic_layout_packed(&handle->layout.shape, handle->set_aside);
        else if (handle->home_node >= 0 && !tic_layout_is_mapped(&layout))
            return save_nothing(snapshot, &layout.shape, why, saved);
        return write_or_hold(snapshot, &layout, why, saved);
    }
    int status = handle->packer->pack(handle, &packed.base, &size);
    if (status)
        return status;
    packed.shape = (struct tic_shape){1, 1, {size, 1, 1, 1}};
    if (!tic_shape_equal(&packed.shape, &handle->layout.shape))
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

static int save_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    uint64_t calls = atomic_load(&snapshot->graph->calls);
    struct tic_saved saved;
    int status = save_value_locked(snapshot, handle, why, &saved);

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
    uint64_t version = atomic_load_explicit(&handle->version, memory_order_relaxed);
    int status = save_value_locked(snapshot, handle, why, saved);

    if (status)
        return status;
    atomic_store(&handle->noting, true);
    if (atomic_load(&handle->writers) == writers &&
        atomic_load_explicit(&handle->version, memory_order_relaxed) == version)
        note_saved_locked(snapshot, handle, saved, calls);
    else
        status = -EBUSY;
    atomic_store(&handle->noting, false);
    tic_rows_settle(&snapshot->store->rows, saved->row);
    return status;
}

int tic_snapshot_save_own_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    struct tic_saved saved;

    return save_beside_locked(snapshot, handle, 1, 0, &saved);
}

/* Tasks do not wait while a value is compressed and written: they may change it as soon as it is
 * copied. */
int tic_snapshot_save_later_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                   struct tic_row *held)
{
    struct tic_saved saved;
    int status = save_beside_locked(snapshot, handle, 0, -EINPROGRESS, &saved);

    held->extent = TIC_NO_EXTENT;
    if (status == 0 && saved.row.extent == TIC_HELD_EXTENT)
        *held = saved.row;
    return status;
}

/* Does the active cut still need the memory of the handle as it is? */
static bool is_needed(struct tic_handle *handle, uint64_t cut)
{
    return tic_handle_is_due(handle, cut) || tic_handle_is_unchecked(handle, cut);
}

/* Saves the handle if the active cut needs its value, asking for rows where there are none, or
 * compares it with what was saved. If that fails, the cut is lost. */
static void save_due(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    bool stale = tic_family_is_stale(snapshot->graph, handle);
    int status = 0;

    do {
        if (status == -EAGAIN)
            status = request_rows(snapshot, &handle->layout.shape);
        tic_lock(&handle->lock); /* also for a lost cut: the value may be being saved right now */
        if (tic_snapshot_is_lost(snapshot, cut))
            status = 0;
        else if (!tic_handle_is_due(handle, cut))
            tic_verify_check_locked(snapshot, handle, cut, stale);
        else if (status == 0) {
            status = save_locked(snapshot, handle, -EINPROGRESS);
            if (status == 0) /* it is about to change */
                atomic_store(&handle->checked, cut);
        }
        if (status && status != -EAGAIN)
            tic_snapshot_lose_cut(snapshot, cut, status);
        tic_unlock(&handle->lock);
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
        save_due(snapshot, handle, cut);
    note_held(&slot->held, tic_nanoseconds(CLOCK_MONOTONIC) - start,
              tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - on_processor);
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
    if (!due && count > 0)
        tic_snapshot_break(snapshot, "out of memory");
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
 * end late (end dependencies), or meet other tasks at a barrier of their own. */
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
    if (waits && (idle > COUNT_PATIENCE || snapshot->vain_calls == calls + 1 ||
                  snapshot->vain_count >= VAIN_MOST)) {
        snapshot->vain_count += snapshot->vain_calls != calls + 1;
        snapshot->vain_calls = calls + 1;
        return true;
    }
    return atomic_load(&snapshot->cut.active_cut) != 0 &&
           (idle > COUNT_PATIENCE ||
            atomic_load_explicit(&snapshot->late_ends, memory_order_relaxed));
}

/* Counted checkpoints are exact: who reaches the count waits until the cut is taken, but not where
 * nothing moves meanwhile, and not for a checkpoint thread that does not answer. */
static void count_task(struct tic_snapshot *snapshot)
{
    uint64_t ended = atomic_fetch_add_explicit(&snapshot->ended, 1, memory_order_relaxed) + 1;
    uint64_t seen = ended;
    unsigned most = (unsigned)(snapshot->patience / COUNT_POLL) + 1;

    if (ended % snapshot->every != 0)
        return;
    tic_lock(&snapshot->lock);
    pthread_cond_signal(&snapshot->wake);
    for (unsigned idle = 0;
         snapshot->counted < ended / snapshot->every && !snapshot->exited &&
         snapshot->retry_ns == 0 && !snapshot->silent && !may_block(snapshot, idle);
         idle++) {
        struct timespec until = tic_after(COUNT_POLL);
        pthread_cond_timedwait(&snapshot->served, &snapshot->lock.mutex, &until);
        uint64_t now = atomic_load_explicit(&snapshot->ended, memory_order_relaxed);
        if (now != seen)
            idle = 0;
        seen = now;
        snapshot->silent |= idle > most;
    }
    bool silent = snapshot->silent;
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

    if (__builtin_expect(slot->failed, 0))
        tic_snapshot_break(snapshot, "out of memory");
    if (__builtin_expect(wake, 0)) {
        tic_snapshot_wake(snapshot);
    }
    if (snapshot->every > 0)
        count_task(snapshot);
}

/* ---- structural changes --------------------------------------------------------------------- */

/* Cuts are raised under the graph lock: a change falls before or after a cut as a whole. */
static uint64_t epoch_locked(struct tic_snapshot *snapshot)
{
    return atomic_load(&snapshot->cut.epoch);
}

/* What main() keeps is only copied, too, as the next line writes it; SEL may take none for long. */
static int first_try(const struct tic_snapshot *snapshot)
{
    return snapshot->log_all ? 0 : -EALREADY;
}

/* Whoever writes it behind StarPU's back does not mark it. What shares memory counts elsewhere. */
static bool is_other(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (atomic_load(&snapshot->replaying) || atomic_load(&handle->shares))
        return false;
    tic_lock(&handle->lock);
    bool other =
        atomic_load(&handle->dirty_since) == 0 && !tic_verify_is_current_locked(snapshot, handle);
    tic_unlock(&handle->lock);
    return other;
}

/* Listed, too, or lines would go on naming the value before. */
static bool mark_if_other(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    bool fine = true;

    if (!is_other(snapshot, handle))
        return true;
    tic_lock(&snapshot->graph->lock);
    if (atomic_load(&handle->dirty_since) == 0) {
        atomic_store(&handle->dirty_since, epoch_locked(snapshot));
        fine = tic_graph_note_changed_locked(snapshot->graph, handle);
    }
    tic_unlock(&snapshot->graph->lock);
    return fine;
}

static int save_now_once(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    if (!mark_if_other(snapshot, handle))
        return -ENOMEM;
    tic_lock(&handle->lock);
    int status = atomic_load(&handle->dirty_since) == 0 ? 0 : save_locked(snapshot, handle, why);
    tic_unlock(&handle->lock);
    return status;
}

void tic_snapshot_save_now(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (tic_snapshot_is_broken(snapshot) || snapshot->dry ||
        (atomic_load(&handle->dirty_since) == 0 && !handle->imaged))
        return;
    int status = save_now_once(snapshot, handle, first_try(snapshot));
    while (status == -EAGAIN) {
        status = request_rows(snapshot, &handle->layout.shape);
        status = status ? status : save_now_once(snapshot, handle, 0);
    }
    if (status && status != -ECANCELED)
        status = save_now_once(snapshot, handle, status);
    if (status && status != -ECANCELED)
        tic_snapshot_break(snapshot, "cannot keep a value that main() gets back: %s",
                           tic_snapshot_reason(status));
    atomic_fetch_add_explicit(&snapshot->main_held_ns, tic_nanoseconds(CLOCK_MONOTONIC) - start,
                              memory_order_relaxed);
    tic_failpoint(TIC_FAIL_UNREGISTER_SAVE);
}

/* The active cut is older than the change: it still needs the value. Later cuts see it gone. */
static void save_for_active_cut(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);

    if (cut != 0 && !tic_snapshot_is_broken(snapshot) && is_needed(handle, cut))
        save_due(snapshot, handle, cut);
}

/* Between these the handle is gone, but not freed. False when out of memory. */
static bool begin_leaving_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    handle->leaving = true;
    return tic_graph_leave_locked(snapshot->graph, handle, epoch_locked(snapshot));
}

static void finish_leaving(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    save_for_active_cut(snapshot, handle);
    tic_lock(&handle->lock); /* whoever saves it for a cut that is lost is done with its memory */
    tic_unlock(&handle->lock);
    tic_lock(&snapshot->graph->lock);
    handle->data = NULL;
    handle->leaving = false;
    tic_unlock(&snapshot->graph->lock);
}

void tic_snapshot_remove(struct tic_snapshot *snapshot, struct tic_handle *handle, bool pinned)
{
    if (pinned)
        tic_snapshot_save_now(snapshot, handle);
    tic_lock(&snapshot->graph->lock);
    handle->pinned = pinned;
    bool fine = begin_leaving_locked(snapshot, handle);
    tic_unlock(&snapshot->graph->lock);
    if (!fine)
        tic_snapshot_break(snapshot, "out of memory");
    finish_leaving(snapshot, handle);
}

/* False when out of memory. */
static bool touch_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_lock(&handle->lock); /* an older value may be being saved right now */
    tic_handle_count_write(handle);
    atomic_store(&handle->written_in, UINT64_MAX); /* main() may be writing it now */
    if (atomic_load(&handle->dirty_since) == 0)
        atomic_store(&handle->dirty_since, epoch_locked(snapshot));
    tic_unlock(&handle->lock);
    return tic_graph_note_changed_locked(snapshot->graph, handle);
}

void tic_snapshot_touch(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_lock(&snapshot->graph->lock);
    bool fine = touch_locked(snapshot, handle);
    tic_unlock(&snapshot->graph->lock);
    if (!fine)
        tic_snapshot_break(snapshot, "out of memory");
}

void tic_snapshot_adopt_content(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    bool fine = true;

    atomic_store(&handle->written_in, UINT64_MAX);
    tic_lock(&snapshot->graph->lock);
    if (!handle->current.exists && atomic_load(&handle->dirty_since) == 0) {
        atomic_store(&handle->dirty_since, epoch_locked(snapshot));
        fine = tic_graph_note_changed_locked(snapshot->graph, handle);
    }
    tic_unlock(&snapshot->graph->lock);
    if (!fine)
        tic_snapshot_break(snapshot, "out of memory");
}

void tic_snapshot_leave_content(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    save_for_active_cut(snapshot, handle);
    tic_lock(&handle->lock);
    if (!handle->current.exists)
        atomic_store(&handle->dirty_since, 0);
    tic_unlock(&handle->lock);
}

void tic_snapshot_merge(struct tic_snapshot *snapshot, struct tic_handle *parent, bool changed,
                        bool noted)
{
    const struct tic_line_acquire note = {.id = parent->id, .writes = TIC_ACQUIRE_UNPARTITION};

    tic_lock(&snapshot->graph->lock);
    bool fine = !changed || touch_locked(snapshot, parent);
    for (unsigned i = 0; i < parent->child_count; i++)
        fine &= begin_leaving_locked(snapshot, parent->children[i]);
    if (noted)
        fine &= tic_graph_note_acquire_locked(snapshot->graph, &note, epoch_locked(snapshot)) == 0;
    tic_unlock(&snapshot->graph->lock);
    if (!fine)
        tic_snapshot_break(snapshot, "out of memory");
    for (unsigned i = 0; i < parent->child_count; i++)
        finish_leaving(snapshot, parent->children[i]);
}

/* ---- main() reads and writes ---------------------------------------------------------------- */

uint64_t tic_snapshot_epoch(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->graph->lock);
    uint64_t epoch = epoch_locked(snapshot);
    tic_unlock(&snapshot->graph->lock);
    return epoch;
}

static int log_value_once(struct tic_snapshot *snapshot, struct tic_handle *handle, int why,
                          struct tic_saved *saved, bool *fresh)
{
    bool stale = tic_family_is_stale(snapshot->graph, handle);
    int status = 0;

    tic_lock(&handle->lock);
    if (!stale && atomic_load(&handle->dirty_since) != 0)
        status = save_locked(snapshot, handle, why);
    *fresh = status == 0 &&
             (stale || !handle->current.exists || !tic_verify_is_current_locked(snapshot, handle));
    if (*fresh)
        status = save_value_locked(snapshot, handle, why, saved);
    else if (status == 0)
        *saved = handle->current.saved;
    if (status == 0) /* before anything else can take the handle's place as what refers to it */
        tic_rows_pin(&snapshot->store->rows, saved->row);
    tic_unlock(&handle->lock);
    return status;
}

int tic_snapshot_log_value(struct tic_snapshot *snapshot, struct tic_handle *handle,
                           struct tic_saved *saved, bool *fresh)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    int status = log_value_once(snapshot, handle, first_try(snapshot), saved, fresh);

    while (status == -EAGAIN) {
        status = request_rows(snapshot, &handle->layout.shape);
        status = status ? status : log_value_once(snapshot, handle, 0, saved, fresh);
    }
    if (status && status != -ECANCELED)
        status = log_value_once(snapshot, handle, status, saved, fresh);
    atomic_fetch_add_explicit(&snapshot->main_held_ns, tic_nanoseconds(CLOCK_MONOTONIC) - start,
                              memory_order_relaxed);
    return status;
}

/* The handle, or what shares its memory and is not gone, that the active cut still has to save. */
static struct tic_handle *find_due_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                          uint64_t cut)
{
    if (cut == 0 || tic_snapshot_is_broken(snapshot) || tic_snapshot_is_lost(snapshot, cut))
        return NULL;
    if (is_needed(handle, cut))
        return handle;
    for (unsigned long i = 0; i < handle->overlap_count; i++) {
        struct tic_handle *other = handle->overlaps[i];
        if (!tic_handle_is_gone(other, cut) && is_needed(other, cut))
            return other;
    }
    return NULL;
}

/* False when out of memory. */
static bool forget_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_lock(&handle->lock); /* the value may be being saved right now */
    if (handle->current.since <= atomic_load(&snapshot->cut.active_cut))
        handle->previous = handle->current;
    handle->current = (struct tic_value){.exists = false, .since = epoch_locked(snapshot)};
    atomic_store(&handle->dirty_since, 0);
    tic_unlock(&handle->lock);
    return tic_graph_note_changed_locked(snapshot->graph, handle);
}

static int hold_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       const struct tic_line_acquire *access)
{
    bool fine = forget_value_locked(snapshot, handle);

    for (unsigned long i = 0; i < handle->overlap_count; i++)
        fine &= forget_value_locked(snapshot, handle->overlaps[i]);
    if (!fine)
        return -ENOMEM;
    return access ? tic_graph_note_acquire_locked(snapshot->graph, access, epoch_locked(snapshot))
                  : 0;
}

int tic_snapshot_hold(struct tic_snapshot *snapshot, struct tic_handle *handle,
                      const struct tic_line_acquire *access)
{
    for (;;) {
        tic_lock(&snapshot->graph->lock);
        uint64_t active = atomic_load(&snapshot->cut.active_cut);
        struct tic_handle *due = find_due_locked(snapshot, handle, active);
        int status = due ? 0 : hold_locked(snapshot, handle, access);
        tic_unlock(&snapshot->graph->lock);
        if (!due)
            return status;
        save_due(snapshot, due, active);
    }
}

int tic_snapshot_note_acquire(struct tic_snapshot *snapshot, const struct tic_line_acquire *access)
{
    tic_lock(&snapshot->graph->lock);
    int status = tic_graph_note_acquire_locked(snapshot->graph, access, epoch_locked(snapshot));
    tic_unlock(&snapshot->graph->lock);
    return status;
}

int tic_snapshot_note_callback(struct tic_snapshot *snapshot, uint64_t task)
{
    tic_lock(&snapshot->graph->lock);
    int status = tic_graph_note_callback_locked(
        snapshot->graph, task, snapshot->verify.percent > 0 ? epoch_locked(snapshot) : 0);
    tic_unlock(&snapshot->graph->lock);
    return status;
}
