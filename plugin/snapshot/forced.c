/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks: saved when a task ends. */
#include "snapshot/forced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "snapshot/provide.h"
#include "snapshot/suspend.h"

/* Other workers may take the rows that this one has asked for. */
enum { FORCED_TRIES = 3, LOG_TRIES = 1000 };

/* ---- the log -------------------------------------------------------------------------------- */

unsigned tic_snapshot_owner_writer(const struct tic_snapshot *snapshot)
{
    return snapshot->log.lent_from - 1;
}

int tic_snapshot_append(struct tic_snapshot *snapshot, unsigned writer, enum tic_logged kind,
                        const uint64_t *words, size_t count, uint64_t *file)
{
    if (tic_protection_is_suspended(&snapshot->protection))
        return -ECANCELED; /* what comes of events after the gap is executed again in a restart */
    int status = tic_eventlog_append(&snapshot->log, writer, kind, words, count, file);

    for (int tries = 0; status == -EAGAIN && tries < LOG_TRIES; tries++) {
        status = tic_snapshot_want_log(snapshot);
        status =
            status ? status : tic_eventlog_append(&snapshot->log, writer, kind, words, count, file);
    }
    if (status && status != -ECANCELED)
        tic_snapshot_suspend(snapshot, status);
    return status;
}

int tic_snapshot_append_of(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                           enum tic_logged kind, const uint64_t *words, size_t count,
                           uint64_t *file)
{
    if (slot->number < tic_snapshot_owner_writer(snapshot))
        return tic_snapshot_append(snapshot, slot->number, kind, words, count, file);
    unsigned writer = tic_eventlog_borrow(&snapshot->log);
    int status = tic_snapshot_append(snapshot, writer, kind, words, count, file);
    tic_eventlog_give_back(&snapshot->log, writer);
    return status;
}

void tic_snapshot_need_lines(struct tic_snapshot *snapshot, const char *task, const char *why)
{
    atomic_fetch_add_explicit(&snapshot->results.uncovered, 1, memory_order_relaxed);
    if (atomic_load_explicit(&snapshot->results.needs_lines, memory_order_relaxed) ||
        atomic_exchange(&snapshot->results.needs_lines, true))
        return;
    tic_log(TIC_LOG_INFO,
            "the event log lacks results (%s: %s): recovery lines are taken every %g "
            "seconds, too",
            task, why, snapshot->period);
    tic_snapshot_wake(snapshot);
}

/* ---- events --------------------------------------------------------------------------------- */

void tic_snapshot_events(struct tic_snapshot *snapshot, uint64_t *count, uint64_t *hash)
{
    struct tic_graph *graph = snapshot->graph;

    tic_lock(&graph->lock);
    *count = tic_tail_total(&graph->events);
    *hash = graph->event_chain;
    tic_unlock(&graph->lock);
}

uint64_t tic_snapshot_forced_end(const struct tic_snapshot *snapshot)
{
    unsigned long count = snapshot->recovery.result_count;

    return count > 0 ? snapshot->recovery.results[count - 1].sequence + 1 : 0;
}

/* ---- a worker ------------------------------------------------------------------------------- */

/* Values that the results of a task have replaced. */
struct replaced_list {
    unsigned count;
    struct tic_replaced items[TIC_FORCED_OUTPUTS];
};

/* May this worker spend more time on forced checkpoints? */
static bool is_in_budget(struct tic_snapshot *snapshot, const struct tic_slot *slot, uint64_t now)
{
    if (snapshot->options.log_all ||
        slot->forced_ns * 100 <= (now - snapshot->started_ns) * snapshot->options.forced_percent)
        return true;
    if (!atomic_exchange(&snapshot->results.over_budget, true))
        tic_log(TIC_LOG_DETAIL,
                "thefts are frequent: not every stolen task gets a forced checkpoint, or more than "
                "%lu %% of the time would go there (STARPU_TIC_FORCED)",
                snapshot->options.forced_percent);
    return false;
}

/* Under the handle's lock. */
static int save_result_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              struct replaced_list *replaced)
{
    /* What is forced to the disk every STARPU_TIC_LOG_SYNC must find its values there. */
    bool reuses = snapshot->options.log_all && snapshot->options.sync_ns == 0;
    struct tic_replaced before;
    bool found = reuses && tic_reuse_find_locked(&snapshot->results.reuse, &snapshot->cut,
                                                 &snapshot->store->rows, handle, &before);
    int status = tic_snapshot_save_own_locked(snapshot, handle);

    if (status)
        return status;
    handle->saving.current.is_result = reuses;
    if (found)
        replaced->items[replaced->count++] = before;
    return 0;
}

/* Its value and where it is, saved if need be. 0, -EAGAIN no row is free, -EBUSY, other -errno. */
static int save_output(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       struct tic_forced_output *output, struct tic_row *row,
                       struct replaced_list *replaced)
{
    int status = 0;

    tic_lock(&handle->saving.lock);
    if (atomic_load_explicit(&handle->saving.writers, memory_order_acquire) != 1)
        status = -EBUSY; /* somebody writes it without waiting for us */
    else if (atomic_load(&handle->saving.dirty_since) != 0)
        status = save_result_locked(snapshot, handle, replaced);
    if (status == 0 && (!handle->saving.current.exists ||
                        atomic_load_explicit(&handle->saving.writers, memory_order_acquire) != 1))
        status = -EBUSY;
    struct tic_saved saved = handle->saving.current.saved;
    tic_unlock(&handle->saving.lock);
    *row = saved.row;
    output->id = handle->id;
    return status ? status : tic_forced_describe(snapshot->store, &saved, output);
}

/* Lines let results go that were overwritten, and that are not used again before (reuse.h). */
void tic_snapshot_note_volume(struct tic_snapshot *snapshot, uint64_t bytes)
{
    uint64_t most = atomic_load_explicit(&snapshot->results.bytes_most, memory_order_relaxed);

    if (most == 0)
        return;
    uint64_t volume = tic_reuse_add_volume(&snapshot->results.reuse, bytes);
    if (volume >= most && volume - bytes < most)
        tic_snapshot_wake(snapshot);
}

static uint64_t count_bytes(const struct tic_forced *forced)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < forced->count; i++)
        bytes += forced->outputs[i].bytes;
    return bytes;
}

/* A restart reads records and plans with them, but only few results. */
enum { RECORD_WEIGHT = 4 };

bool tic_snapshot_is_log_large(struct tic_snapshot *snapshot)
{
    uint64_t most = atomic_load_explicit(&snapshot->results.bytes_most, memory_order_relaxed);
    uint64_t records = atomic_load_explicit(&snapshot->log.bytes, memory_order_relaxed) -
                       snapshot->cycle.logged_before;

    return most > 0 && tic_reuse_volume(&snapshot->results.reuse) + RECORD_WEIGHT * records >= most;
}

int tic_snapshot_keep_result(struct tic_snapshot *snapshot, const struct tic_forced_kept *result)
{
    tic_lock(&snapshot->graph->lock);
    int status = tic_append(snapshot->results.kept, snapshot->results.kept_count,
                            snapshot->results.kept_capacity, result);
    tic_unlock(&snapshot->graph->lock);
    return status;
}

/* Between the save and the time when the result is known to be kept, a sweep may come: the rows are
 * current values of their handles, which nobody else writes before this task ends. */
static int force(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                 struct tic_forced *forced, struct replaced_list *replaced)
{
    const struct tic_handle_list *writing = &slot->writing;
    struct tic_forced_kept result = {.sequence = forced->sequence,
                                     .count = (uint32_t)writing->count};
    uint64_t words[TIC_FORCED_WORDS];
    int status = 0;

    forced->count = writing->count;
    for (unsigned long i = 0; i < writing->count && status == 0; i++)
        status = save_output(snapshot, writing->items[i], &forced->outputs[i], &result.rows[i],
                             replaced);
    if (status)
        return status;
    status = tic_snapshot_append_of(snapshot, slot, TIC_LOGGED_FINISHED, words,
                                    tic_forced_encode(forced, words), &result.file);
    if (status)
        return status == -EAGAIN ? -ECANCELED : status;
    tic_failpoint(TIC_FAIL_FORCED_WRITTEN);
    tic_snapshot_note_volume(snapshot, count_bytes(forced));
    tic_reuse_add(&snapshot->results.reuse, &snapshot->cut, &snapshot->store->rows, replaced->items,
                  replaced->count);
    return tic_snapshot_keep_result(snapshot, &result);
}

bool tic_snapshot_force(struct tic_snapshot *snapshot, struct tic_slot *slot,
                        struct tic_forced *forced)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    int most = snapshot->options.log_all ? LOG_TRIES : FORCED_TRIES;
    struct replaced_list replaced = {0};

    if (slot->writing.count == 0 || slot->writing.count > TIC_FORCED_OUTPUTS ||
        tic_snapshot_is_broken(snapshot) || tic_protection_is_suspended(&snapshot->protection) ||
        !is_in_budget(snapshot, slot, start))
        return false;
    int status = force(snapshot, slot, forced, &replaced);
    for (int tries = 0; status == -EAGAIN && tries < most && !tic_snapshot_is_broken(snapshot);
         tries++) {
        status = 0;
        for (unsigned long i = 0; i < slot->writing.count && status == 0; i++)
            status = tic_snapshot_want_row(snapshot, slot->writing.items[i]);
        status = status ? status : force(snapshot, slot, forced, &replaced);
    }
    slot->forced_ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    if (status == 0)
        atomic_fetch_add_explicit(&snapshot->counts.forced_saved, 1, memory_order_relaxed);
    else if (status != -EAGAIN && status != -EBUSY && status != -ECANCELED)
        tic_snapshot_suspend(snapshot, status); /* a restart executes the task again */
    return status == 0;
}

/* ---- the checkpoint thread ------------------------------------------------------------------ */

/* Does the line that was committed last hold it? */
static bool is_in_line(const struct tic_snapshot *snapshot, const struct tic_forced_kept *result)
{
    return result->epoch > 0 ? result->epoch <= snapshot->cycle.committed
                             : tic_doneset_contains(&snapshot->graph->done, result->sequence);
}

void tic_snapshot_mark_forced_locked(struct tic_snapshot *snapshot, bool committed)
{
    struct tic_rows *rows = &snapshot->store->rows;
    unsigned long kept = 0;

    for (unsigned long i = 0; i < snapshot->results.kept_count; i++) {
        const struct tic_forced_kept *result = &snapshot->results.kept[i];
        if (committed && is_in_line(snapshot, result))
            continue;
        for (unsigned k = 0; k < result->count; k++)
            tic_rows_mark(rows, result->rows[k]);
        if (result->epoch == 0)
            tic_eventlog_mark(&snapshot->log, result->file);
        snapshot->results.kept[kept++] = *result;
    }
    snapshot->results.kept_count = kept;
}
