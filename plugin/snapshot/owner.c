/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Saving values on the owner thread: what it unregisters, partitions, reads and writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/trace.h"
#include "graph/family.h"
#include "snapshot/provide.h"
#include "snapshot/save.h"
#include "snapshot/suspend.h"

/* ---- structural changes --------------------------------------------------------------------- */

/* Cuts are raised under the graph lock: a change falls before or after a cut as a whole. */
static uint64_t epoch_locked(struct tic_snapshot *snapshot)
{
    return atomic_load(&snapshot->cut.epoch);
}

/* What main() keeps is only copied, too, as the next line writes it; SEL may take none for long. */
static int first_try(const struct tic_snapshot *snapshot)
{
    return snapshot->options.log_all ? 0 : -EALREADY;
}

/* False when out of memory. */
static bool touch_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, bool declared)
{
    tic_handle_lock_for_main(handle); /* an older value may be being saved right now */
    (declared ? tic_handle_count_write : tic_handle_count_change)(handle);
    atomic_store(&handle->saving.written_in, UINT64_MAX); /* main() may be writing it now */
    if (atomic_load(&handle->saving.dirty_since) == 0)
        atomic_store(&handle->saving.dirty_since, epoch_locked(snapshot));
    tic_unlock(&handle->saving.lock);
    return tic_graph_note_changed_locked(snapshot->graph, handle);
}

/* Is a task writing what shares its memory? Its value, which is later, will cover that. */
static bool is_covered(struct tic_snapshot *snapshot, const struct tic_handle *handle)
{
    bool written = false;

    tic_lock(&snapshot->graph->lock);
    for (unsigned long i = 0; i < handle->listing.overlap_count && !written; i++)
        written = atomic_load(&handle->listing.overlaps[i]->saving.writers) > 0;
    tic_unlock(&snapshot->graph->lock);
    return written || (handle->family && handle->family->planned);
}

/* Whoever writes it behind StarPU's back does not mark it. */
static bool is_other(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (atomic_load(&snapshot->replaying) ||
        (atomic_load(&handle->shares) && is_covered(snapshot, handle)))
        return false;
    bool stale = tic_family_is_stale(snapshot->graph, handle);
    tic_handle_lock_for_main(handle);
    bool other = atomic_load(&handle->saving.dirty_since) == 0 &&
                 !(stale ? tic_verify_is_same_locked(snapshot, handle)
                         : tic_verify_is_current_locked(snapshot, handle));
    tic_unlock(&handle->saving.lock);
    return other;
}

/* Listed, too, or lines would go on naming the value before. What shares memory gets a later value
 * than the others, which may have changed with it. */
static bool mark_if_other(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    bool fine = true;

    if (!is_other(snapshot, handle))
        return true;
    tic_lock(&snapshot->graph->lock);
    if (atomic_load(&handle->shares)) {
        fine = touch_locked(snapshot, handle, false);
    } else if (atomic_load(&handle->saving.dirty_since) == 0) {
        atomic_store(&handle->saving.dirty_since, epoch_locked(snapshot));
        fine = tic_graph_note_changed_locked(snapshot->graph, handle);
    }
    tic_unlock(&snapshot->graph->lock);
    return fine;
}

/* Also where there is no free row at first, or what is copied has to be held in memory. */
static int try_to_save(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       int (*once)(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                   int why))
{
    int status = once(snapshot, handle, first_try(snapshot));

    while (status == -EAGAIN) {
        status = tic_snapshot_want_row(snapshot, handle);
        status = status ? status : once(snapshot, handle, 0);
    }
    if (status && status != -ECANCELED)
        status = once(snapshot, handle, status);
    return status;
}

static int save_now_once(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    if (!mark_if_other(snapshot, handle))
        return -ENOMEM;
    tic_handle_lock_for_main(handle);
    int status =
        atomic_load(&handle->saving.dirty_since) == 0 ? 0 : tic_save_locked(snapshot, handle, why);
    tic_unlock(&handle->saving.lock);
    return status;
}

/* main() was held since `start`. */
static void note_held(_Atomic uint64_t *sum, uint64_t start)
{
    enum { LONG = 1000000 }; /* ns: what a picture may show */
    uint64_t end = tic_nanoseconds(CLOCK_MONOTONIC);

    atomic_fetch_add_explicit(sum, end - start, memory_order_relaxed);
    if (tic_trace_is_on() && end - start >= LONG)
        tic_trace_put("held", ", \"begin\": %.6f", tic_trace_time(start));
}

void tic_snapshot_save_now(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (tic_snapshot_is_broken(snapshot) || snapshot->options.dry ||
        (atomic_load(&handle->saving.dirty_since) == 0 && !handle->imaged))
        return;
    int status = try_to_save(snapshot, handle, save_now_once);
    if (status && status != -ECANCELED)
        tic_snapshot_break(snapshot, "cannot keep a value that main() gets back: %s",
                           tic_snapshot_reason(status));
    note_held(&snapshot->counts.main_held_ns, start);
    tic_failpoint(TIC_FAIL_UNREGISTER_SAVE);
}

static int save_beside_once(struct tic_snapshot *snapshot, struct tic_handle *handle, int why)
{
    tic_handle_lock_for_main(handle);
    int status = atomic_load(&handle->saving.dirty_since) == 0
                     ? 0
                     : tic_save_beside_locked(snapshot, handle, why);
    tic_unlock(&handle->saving.lock);
    return status == -EBUSY ? 0 : status;
}

void tic_snapshot_save_beside(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (tic_snapshot_is_broken(snapshot) || snapshot->options.dry)
        return;
    int status = try_to_save(snapshot, handle, save_beside_once);
    if (status && status != -ECANCELED)
        tic_snapshot_break(snapshot, "cannot keep a value that main() may change: %s",
                           tic_snapshot_reason(status));
}

static int take_memory_once(struct tic_snapshot *snapshot, struct tic_handle *handle, int why,
                            uint64_t version)
{
    struct tic_saved saved;

    tic_handle_lock_for_main(handle);
    int status = tic_save_value_locked(snapshot, handle, why, &saved);
    if (status == 0) {
        handle->saving.current.saved = saved;
        handle->saving.current.version = version;
        atomic_store(&handle->saving.version, version);
    }
    tic_unlock(&handle->saving.lock);
    if (status)
        return status;
    bool fine = tic_graph_note_changed(snapshot->graph, handle);
    tic_rows_settle(&snapshot->store->rows, saved.row);
    return fine ? 0 : -ENOMEM;
}

int tic_snapshot_take_memory(struct tic_snapshot *snapshot, struct tic_handle *handle,
                             uint64_t version)
{
    int status = take_memory_once(snapshot, handle, -EALREADY, version);

    while (status == -EAGAIN) {
        status = tic_snapshot_want_row(snapshot, handle);
        status = status ? status : take_memory_once(snapshot, handle, 0, version);
    }
    return status;
}

/* Only this is what a checkpoint costs main(): values that it gets back are saved at any period. */
static void save_for_cut(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                         bool steady)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    tic_handle_lock_for_main(handle);
    tic_unlock(&handle->saving.lock);
    tic_save_due(snapshot, handle, cut, steady);
    note_held(&snapshot->pace.main_held_ns, start);
}

/* The active cut is older than the change: it still needs the value. Later cuts see it gone. */
static void save_for_active_cut(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);

    if (cut != 0 && !tic_snapshot_is_broken(snapshot) && tic_save_is_needed(handle, cut))
        save_for_cut(snapshot, handle, cut, true);
}

/* Between these the handle is gone, but not freed. False when out of memory. */
static bool begin_leaving_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    handle->listing.leaving = true;
    return tic_graph_leave_locked(snapshot->graph, handle, epoch_locked(snapshot));
}

static void finish_leaving(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    save_for_active_cut(snapshot, handle);
    tic_handle_lock_for_main(
        handle); /* whoever saves it for a cut that is lost is done with its memory */
    tic_unlock(&handle->saving.lock);
    tic_lock(&snapshot->graph->lock);
    handle->data = NULL;
    handle->listing.leaving = false;
    tic_unlock(&snapshot->graph->lock);
}

void tic_snapshot_remove(struct tic_snapshot *snapshot, struct tic_handle *handle, bool pinned)
{
    pinned = pinned && tic_point_has_history(&snapshot->point);
    if (pinned)
        tic_snapshot_save_now(snapshot, handle);
    tic_lock(&snapshot->graph->lock);
    handle->listing.pinned = pinned;
    bool fine = begin_leaving_locked(snapshot, handle);
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, fine);
    finish_leaving(snapshot, handle);
}

static void touch(struct tic_snapshot *snapshot, struct tic_handle *handle, bool declared,
                  void (*note)(void *arg), void *arg)
{
    tic_lock(&snapshot->graph->lock);
    bool fine = touch_locked(snapshot, handle, declared);
    if (note)
        note(arg);
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, fine);
}

void tic_snapshot_touch(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    touch(snapshot, handle, true, NULL, NULL);
}

void tic_snapshot_note_change(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    touch(snapshot, handle, false, NULL, NULL);
}

void tic_snapshot_touch_noting(struct tic_snapshot *snapshot, struct tic_handle *handle,
                               void (*note)(void *arg), void *arg)
{
    touch(snapshot, handle, true, note, arg);
}

void tic_snapshot_adopt_content(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    bool fine = true;

    atomic_store(&handle->saving.written_in, UINT64_MAX);
    tic_lock(&snapshot->graph->lock);
    if (!handle->saving.current.exists && atomic_load(&handle->saving.dirty_since) == 0) {
        atomic_store(&handle->saving.dirty_since, epoch_locked(snapshot));
        fine = tic_graph_note_changed_locked(snapshot->graph, handle);
    }
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, fine);
}

void tic_snapshot_leave_content(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    save_for_active_cut(snapshot, handle);
    tic_handle_lock_for_main(handle);
    if (!handle->saving.current.exists)
        atomic_store(&handle->saving.dirty_since, 0);
    tic_unlock(&handle->saving.lock);
}

void tic_snapshot_merge(struct tic_snapshot *snapshot, struct tic_handle *parent, bool changed,
                        bool noted)
{
    const struct tic_line_acquire note = {.id = parent->id, .writes = TIC_ACQUIRE_UNPARTITION};

    tic_lock(&snapshot->graph->lock);
    bool fine = !changed || touch_locked(snapshot, parent, true);
    for (unsigned i = 0; i < parent->child_count; i++)
        fine &= begin_leaving_locked(snapshot, parent->children[i]);
    if (noted)
        fine &= tic_graph_note_acquire_locked(snapshot->graph, &note, epoch_locked(snapshot)) == 0;
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, fine);
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

    tic_handle_lock_for_main(handle);
    if (!stale && atomic_load(&handle->saving.dirty_since) != 0)
        status = tic_save_locked(snapshot, handle, why);
    *fresh = status == 0 && (stale || !handle->saving.current.exists ||
                             !tic_verify_is_current_locked(snapshot, handle));
    if (*fresh)
        status = tic_save_value_locked(snapshot, handle, why, saved);
    else if (status == 0)
        *saved = handle->saving.current.saved;
    if (status == 0) /* before anything else can take the handle's place as what refers to it */
        tic_rows_pin(&snapshot->store->rows, saved->row);
    tic_unlock(&handle->saving.lock);
    return status;
}

int tic_snapshot_log_value(struct tic_snapshot *snapshot, struct tic_handle *handle,
                           struct tic_saved *saved, bool *fresh)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    int status = log_value_once(snapshot, handle, first_try(snapshot), saved, fresh);

    while (status == -EAGAIN) {
        status = tic_snapshot_want_row(snapshot, handle);
        status = status ? status : log_value_once(snapshot, handle, 0, saved, fresh);
    }
    if (status && status != -ECANCELED)
        status = log_value_once(snapshot, handle, status, saved, fresh);
    note_held(&snapshot->counts.main_held_ns, start);
    return status;
}

/* The handle, or what shares its memory and is not gone, that the active cut still has to save. */
static struct tic_handle *find_due_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                          uint64_t cut)
{
    if (cut == 0 || tic_snapshot_is_broken(snapshot) || tic_snapshot_is_lost(snapshot, cut))
        return NULL;
    if (tic_save_is_needed(handle, cut))
        return handle;
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++) {
        struct tic_handle *other = handle->listing.overlaps[i];
        if (!tic_handle_is_gone(other, cut) && tic_save_is_needed(other, cut))
            return other;
    }
    return NULL;
}

/* False when out of memory. */
static bool forget_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_handle_lock_for_main(handle); /* the value may be being saved right now */
    if (handle->saving.current.since <= atomic_load(&snapshot->cut.active_cut))
        handle->saving.previous = handle->saving.current;
    handle->saving.current = (struct tic_value){.exists = false, .since = epoch_locked(snapshot)};
    atomic_store(&handle->saving.dirty_since, 0);
    tic_unlock(&handle->saving.lock);
    return tic_graph_note_changed_locked(snapshot->graph, handle);
}

/* What begins with it is noted under the same lock: a line has both, or neither. */
struct hold {
    const struct tic_line_acquire *access; /* by main(), or NULL */
    const struct tic_line_read *read;      /* by a callback, or NULL */
    struct tic_reader reader;
};

static int hold_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       const struct hold *hold)
{
    bool fine = forget_value_locked(snapshot, handle);

    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        fine &= forget_value_locked(snapshot, handle->listing.overlaps[i]);
    if (!fine)
        return -ENOMEM;
    handle->saving.current.awaits_main = hold->access || hold->read;
    uint64_t epoch = epoch_locked(snapshot);
    if (hold->access)
        return tic_graph_note_acquire_locked(snapshot->graph, hold->access, epoch);
    return hold->read
               ? tic_graph_note_read_locked(snapshot->graph, hold->read, &hold->reader, epoch)
               : 0;
}

/* While memory is looked at for a quiescent line, an access of main() waits: the line is to have it
 * and what comes of it, or neither. */
static int hold_value(struct tic_snapshot *snapshot, struct tic_handle *handle,
                      const struct hold *hold)
{
    for (;;) {
        tic_lock(&snapshot->graph->lock);
        bool waits = hold->access && atomic_load(&snapshot->verify.closed);
        uint64_t active = atomic_load(&snapshot->cut.active_cut);
        struct tic_handle *due = waits ? NULL : find_due_locked(snapshot, handle, active);
        int status = waits || due ? 0 : hold_locked(snapshot, handle, hold);
        tic_unlock(&snapshot->graph->lock);
        if (waits)
            tic_verify_await_open(snapshot);
        else if (due)
            save_for_cut(snapshot, due, active, false);
        else
            return status;
    }
}

int tic_snapshot_hold(struct tic_snapshot *snapshot, struct tic_handle *handle,
                      const struct tic_line_acquire *access)
{
    return hold_value(snapshot, handle, &(struct hold){.access = access});
}

/* False when out of memory. */
static bool hold_again_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (handle->saving.current.exists)
        return true;
    bool fine = forget_value_locked(snapshot, handle);
    handle->saving.current.awaits_main = true;
    return fine;
}

void tic_snapshot_hold_again(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_lock(&snapshot->graph->lock);
    bool fine = hold_again_locked(snapshot, handle);
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        fine &= hold_again_locked(snapshot, handle->listing.overlaps[i]);
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, fine);
}

int tic_snapshot_hold_by_callback(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                  const struct tic_line_read *read)
{
    return hold_value(snapshot, handle,
                      &(struct hold){.read = read, .reader = {TIC_HISTORY_CALLBACK, handle->id}});
}

int tic_snapshot_note_acquire(struct tic_snapshot *snapshot, const struct tic_line_acquire *access)
{
    for (;;) {
        tic_lock(&snapshot->graph->lock);
        bool waits = atomic_load(&snapshot->verify.closed);
        int status =
            waits ? 0
                  : tic_graph_note_acquire_locked(snapshot->graph, access, epoch_locked(snapshot));
        tic_unlock(&snapshot->graph->lock);
        if (!waits)
            return status;
        tic_verify_await_open(snapshot);
    }
}

static uint32_t place_of(const struct tic_running_callback *running)
{
    return (running->nested ? TIC_HISTORY_NESTED : 0) | (running->outer ? TIC_HISTORY_IN_CALL : 0) |
           (running->in_main ? TIC_HISTORY_IN_CALL_OF_MAIN : 0);
}

static int note_callback_locked(struct tic_snapshot *snapshot, enum tic_history_kind kind,
                                const struct tic_running_callback *running, uint64_t epoch)
{
    const bool begins = kind == TIC_HISTORY_BEGIN, inside = begins && running->outer;
    const struct tic_line_entry entry = {.kind = kind,
                                         .role = TIC_HISTORY_CALLBACK,
                                         .actor = running->task,
                                         .subject = inside ? running->outer->task : 0,
                                         .part = begins ? place_of(running) : 0};

    return tic_callback_is_unknown(running->task)
               ? 0
               : tic_graph_note_locked(snapshot->graph, entry, epoch);
}

void tic_snapshot_begin_callback(struct tic_snapshot *snapshot, uint64_t task,
                                 struct tic_running_callback *running)
{
    struct tic_running_callback **first = &snapshot->verify.callbacks;

    tic_lock(&snapshot->graph->lock);
    running->task = task;
    running->epoch = epoch_locked(snapshot);
    int status = note_callback_locked(snapshot, TIC_HISTORY_BEGIN, running, running->epoch);
    running->listed = true;
    running->next = *first;
    running->link = first;
    if (running->next)
        running->next->link = &running->next;
    *first = running;
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}

void tic_snapshot_note_call(struct tic_snapshot *snapshot,
                            const struct tic_running_callback *running, enum tic_history_kind kind)
{
    if (!running->listed)
        return;
    tic_lock(&snapshot->graph->lock);
    int status = note_callback_locked(snapshot, kind, running, epoch_locked(snapshot));
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}

void tic_snapshot_end_callback(struct tic_snapshot *snapshot, struct tic_running_callback *running)
{
    if (!running->listed)
        return;
    tic_lock(&snapshot->graph->lock);
    int status = note_callback_locked(snapshot, TIC_HISTORY_END, running, epoch_locked(snapshot));
    *running->link = running->next;
    if (running->next)
        running->next->link = running->link;
    tic_unlock(&snapshot->graph->lock);
    running->listed = false;
    tic_snapshot_need(snapshot, status == 0);
}

void tic_snapshot_note_main(struct tic_snapshot *snapshot, enum tic_history_kind kind, uint64_t id)
{
    if (tic_snapshot_is_broken(snapshot) || snapshot->options.dry)
        return;
    tic_lock(&snapshot->graph->lock);
    int status =
        tic_graph_note_locked(snapshot->graph, (struct tic_line_entry){.kind = kind, .subject = id},
                              epoch_locked(snapshot));
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}
