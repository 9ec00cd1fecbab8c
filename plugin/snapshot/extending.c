/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/extending.h"

#include <errno.h>

#include "base/failpoint.h"
#include "base/thread.h"
#include "snapshot/forced.h"
#include "snapshot/provide.h"
#include "snapshot/save.h"

/* Other workers may take the rows that this one has asked for. */
enum { TRIES = 100 };

void tic_extension_start(struct tic_snapshot *snapshot)
{
    /* Of several ranks the others were not there. */
    if (!snapshot->options.log_all || snapshot->verify.percent > 0 || snapshot->ranks ||
        atomic_load_explicit(&snapshot->extension.on, memory_order_relaxed) ||
        atomic_exchange(&snapshot->extension.on, true))
        return;
    tic_snapshot_wake(snapshot);
}

/* ---- a task --------------------------------------------------------------------------------- */

bool tic_extension_begin(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                         struct tic_ended *ended)
{
    if (!atomic_load(&snapshot->extension.on) || snapshot->options.dry ||
        tic_snapshot_is_broken(snapshot))
        return false;
    ended->run = snapshot->extension.run;
    ended->position = tic_extension_where(&snapshot->extension, snapshot->graph);
    ended->epoch = atomic_load_explicit(&slot->state, memory_order_relaxed) / 4;
    ended->began = atomic_fetch_add(&snapshot->extension.ticks, 1);
    ended->started = tic_nanoseconds(CLOCK_REALTIME);
    const uint64_t words[TIC_BEGUN_WORDS] = {ended->key, ended->workers, ended->run, ended->began};
    bool logged = tic_snapshot_append_of(snapshot, slot, TIC_LOGGED_STARTED, words, TIC_BEGUN_WORDS,
                                         NULL) == 0;
    if (!logged)
        tic_extension_note_hole(&snapshot->extension, ended->epoch);
    return logged;
}

void tic_extension_stop(struct tic_snapshot *snapshot)
{
    if (!atomic_load(&snapshot->extension.on))
        return;
    atomic_fetch_add(&snapshot->extension.ticks, 1); /* of which there is no record */
    tic_extension_note_hole(&snapshot->extension, tic_snapshot_epoch(snapshot));
}

/* The rows of a value stay until its record is in the log: busy until settled. */
static bool share_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                         struct tic_saved *saved)
{
    *saved = handle->saving.current.saved;
    return saved->row.extent != TIC_HELD_EXTENT &&
           tic_rows_share(&snapshot->store->rows, saved->row, &handle->layout.shape);
}

static void drop_handed_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (handle->saving.handed.exists)
        tic_rows_settle(&snapshot->store->rows, handle->saving.handed.saved.row);
    handle->saving.handed.exists = false;
}

/* Nobody writes it now: the task before has returned from its kernel, and this one has not begun.
 */
static int take_over_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);
    struct tic_value handed = {.version = version};

    if (atomic_load(&handle->saving.writers) == 0 ||
        (handle->saving.handed.exists && handle->saving.handed.version == version))
        return 0;
    int status =
        atomic_load(&handle->saving.dirty_since) == 0 ? 0 : tic_save_locked(snapshot, handle, 0);
    if (status == 0 && handle->saving.current.exists && handle->saving.current.version == version)
        handed.exists = share_locked(snapshot, handle, &handed.saved);
    if (status == 0) {
        drop_handed_locked(snapshot, handle);
        handle->saving.handed = handed;
    }
    return status;
}

void tic_extension_take_over(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    int status = -EAGAIN;

    for (int tries = 0; status == -EAGAIN && tries < TRIES; tries++) {
        tic_lock(&handle->saving.lock);
        status = take_over_locked(snapshot, handle);
        tic_unlock(&handle->saving.lock);
        if (status == -EAGAIN && tic_snapshot_want_row(snapshot, handle) != 0)
            return;
    }
}

/* -ENODATA: another task has begun to write it since, and nobody has saved what was there. */
static int save_output_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              uint64_t version, struct tic_saved *saved)
{
    if (handle->saving.handed.exists && handle->saving.handed.version == version) {
        *saved = handle->saving.handed.saved;
        handle->saving.handed.exists = false; /* this task settles it */
        return 0;
    }
    if (atomic_load_explicit(&handle->saving.version, memory_order_relaxed) != version)
        return -ENODATA;
    int status = atomic_load(&handle->saving.dirty_since) == 0
                     ? 0
                     : tic_snapshot_save_own_locked(snapshot, handle);
    if (status == -EBUSY)
        return -ENODATA;
    if (status)
        return status;
    return handle->saving.current.exists && handle->saving.current.version == version &&
                   share_locked(snapshot, handle, saved)
               ? 0
               : -ENODATA;
}

static int save_output(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       struct tic_ended_output *output, struct tic_saved *saved)
{
    int status = -EAGAIN;

    for (int tries = 0; status == -EAGAIN && tries < TRIES; tries++) {
        tic_lock(&handle->saving.lock);
        status = save_output_locked(snapshot, handle, output->version, saved);
        tic_unlock(&handle->saving.lock);
        if (status == -EAGAIN && tic_snapshot_want_row(snapshot, handle) != 0)
            return -EIO;
    }
    return status;
}

/* Fills the output, and the row of its value, which is busy; *row.extent is TIC_NO_EXTENT if there
 * is none. */
static bool describe_output(struct tic_snapshot *snapshot, struct tic_handle *handle,
                            struct tic_ended_output *output, struct tic_row *row)
{
    struct tic_forced_output described;
    struct tic_saved saved;
    int status = save_output(snapshot, handle, output, &saved);

    row->extent = TIC_NO_EXTENT;
    output->id = handle->id;
    if (status == -ENODATA) {
        output->segment = TIC_ENDED_REPLACED;
        return true;
    }
    if (status)
        return false;
    *row = saved.row;
    if (tic_forced_describe(snapshot->store, &saved, &described) != 0)
        return false;
    output->bytes = described.bytes;
    output->checksum = described.checksum;
    output->segment = described.segment;
    output->offset = described.offset;
    return true;
}

static bool describe_outputs(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                             struct tic_ended *ended, struct tic_forced_kept *result)
{
    bool fine = true;

    for (unsigned i = 0; i < slot->writing.count && fine; i++) {
        fine = describe_output(snapshot, slot->writing.items[i], &ended->outputs[i],
                               &result->rows[result->count]);
        result->count += result->rows[result->count].extent != TIC_NO_EXTENT;
    }
    return fine;
}

void tic_extension_end(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                       struct tic_ended *ended, bool whole)
{
    struct tic_forced_kept result = {.epoch = ended->epoch};
    uint64_t words[TIC_ENDED_WORDS];
    uint64_t bytes = 0;

    if (tic_snapshot_is_broken(snapshot)) /* its kernel may have submitted what nobody can keep */
        return;
    whole = whole && describe_outputs(snapshot, slot, ended, &result) &&
            tic_snapshot_keep_result(snapshot, &result) == 0;
    for (uint32_t i = 0; i < result.count; i++) {
        bytes += tic_rows_bytes(&snapshot->store->rows, result.rows[i]);
        tic_rows_settle(&snapshot->store->rows, result.rows[i]);
    }
    ended->count = whole ? slot->writing.count : 0;
    ended->ended = atomic_fetch_add(&snapshot->extension.ticks, 1);
    bool logged = tic_snapshot_append_of(snapshot, slot, TIC_LOGGED_ENDED, words,
                                         tic_ended_encode(ended, words), NULL) == 0;
    if (!whole || !logged)
        tic_extension_note_hole(&snapshot->extension, ended->epoch);
    tic_snapshot_note_volume(snapshot, bytes);
    if (whole)
        atomic_fetch_add_explicit(&snapshot->counts.forced_saved, 1, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_FORCED_WRITTEN);
}

bool tic_extension_note(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                        const struct tic_submitted *submitted)
{
    uint64_t words[TIC_LOG_MOST_WORDS];
    size_t count = tic_submitted_encode(submitted, words);

    return count > 0 &&
           tic_snapshot_append_of(snapshot, slot, TIC_LOGGED_SUBMITTED, words, count, NULL) == 0;
}
