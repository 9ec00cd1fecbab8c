/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() reads and writes: recorded, and replayed; accesses that may fail. */
#include "interpose/access.h"

#include "base/error.h"
#include "base/names.h"
#include "graph/family.h"
#include "session/context.h"
#include "interpose/access_callback.h"
#include "interpose/addresses.h"
#include "interpose/ending.h"
#include "interpose/answers.h"
#include "session/lookup.h"
#include "interpose/record.h"
#include "interpose/redo_values.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "session/uses.h"
#include "replay/replay.h"
#include "snapshot/suspend.h"

/* ---- accesses -------------------------------------------------------------------------------- */

/* An access of main() itself comes after its last submission. */
static void note_access(struct tic_handle *handle, bool writes)
{
    struct tic_session *session = tic_session;

    tic_lock(&session->submit);
    tic_data_note_main_use(handle, writes, session->graph.signature.position + 1);
    tic_unlock(&session->submit);
}

/* What main() made itself is no value of the graph: such an access is only counted. */
static bool is_plain(const struct tic_line_acquire *access)
{
    return !access->writes && !access->recorded;
}

static const char *name_of_mode(bool reads, bool writes)
{
    return reads && writes ? "for reading and writing (STARPU_RW)"
           : writes        ? "for writing (STARPU_W)"
                           : "for reading (STARPU_R)";
}

/* What was there is recorded for both modes of writing. */
static const char *name_of_recorded(const struct tic_line_acquire *known)
{
    return known->recorded && known->writes ? "for writing (STARPU_W or STARPU_RW)"
                                            : name_of_mode(known->recorded, known->writes);
}

/* Of what main() made itself, no mode is recorded. */
static void check_access(const struct tic_handle *handle, const struct tic_line_acquire *known,
                         bool reads, bool writes)
{
    if (known->id != handle->id)
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: main() accesses handle %llu%s, and "
                 "accessed handle %llu%s (numbers of registration) in the recorded run",
                 (unsigned long long)handle->id, tic_name_of(handle->id),
                 (unsigned long long)known->id, tic_name_of(known->id));
    if (!is_plain(known) && known->writes != (uint32_t)writes)
        tic_stop(
            TIC_EXIT_DIVERGED,
            "the replay differs from the recorded run: main() accesses handle %llu%s (number of "
            "registration) %s, and accessed it %s in the recorded run",
            (unsigned long long)handle->id, tic_name_of(handle->id), name_of_mode(reads, writes),
            name_of_recorded(known));
}

/* The access belongs to the recovered cut: delivers what it read then. True when there is more to
 * do once it is granted. */
static bool replay_access(struct tic_handle *handle, const struct tic_line_acquire *known)
{
    if (is_plain(known))
        return false;
    tic_lock(&tic_session->submit);
    handle->use.main_writes = known->writes; /* from here on no restore may touch it */
    tic_unlock(&tic_session->submit);
    handle->restart.repeats_access = true;
    if (known->writes)
        tic_snapshot_hold_again(&tic_session->snapshot, handle);
    if (known->recorded)
        tic_redo_show(handle, &(struct tic_saved){{known->extent, known->row}, known->checksum});
    return true;
}

/* The access is granted. */
static void finish_replay(struct tic_handle *handle, bool writes)
{
    handle->restart.repeats_access = false;
    handle->restart.main_writes_left -= writes && handle->restart.main_writes_left > 0;
}

static void record_access(struct tic_handle *handle, bool reads, bool writes)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_line_acquire access = {.id = handle->id, .writes = writes, .recorded = reads};
    struct tic_saved saved = {.checksum = 0};
    bool fresh = false, logs = reads && tic_point_has_history(&snapshot->point);

    tic_handle_locate_homeless(handle); /* no task need have told where it is */
    int status = logs ? tic_snapshot_log_value(snapshot, handle, &saved, &fresh) : 0;

    access.extent = saved.row.extent;
    access.row = saved.row.row;
    access.checksum = saved.checksum;
    if (status == 0)
        status = writes ? tic_snapshot_hold(snapshot, handle, &access)
                        : tic_snapshot_note_acquire(snapshot, &access);
    if (fresh)
        tic_rows_settle(&snapshot->store->rows, saved.row);
    if (status)
        tic_snapshot_break(snapshot, "cannot keep what main() read: %s",
                           tic_snapshot_reason(status));
}

/* What main() made itself need not be known, but for what is compared with memory; and what it
 * writes after its first commit point, as a restart that goes on from a later one does not make it
 * again. */
static bool is_to_be_known(const struct tic_handle *handle, bool reads, bool writes)
{
    if (tic_data_holds_values(handle))
        return true;
    if (handle->imaged)
        return (reads || writes) && !(writes && handle->family);
    return writes && tic_session->snapshot.point.first.is_known;
}

static void note_plain(const struct tic_handle *handle)
{
    const struct tic_line_acquire plain = {.id = handle->id};

    if (tic_snapshot_note_acquire(&tic_session->snapshot, &plain) != 0)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
}

static const char *why_no_access(const struct tic_handle *handle, bool writes)
{
    const struct tic_family *family = handle->family;

    if (!handle->supported)
        return "main() accesses what tasks wrote, with an interface that cannot be saved";
    if (writes && family && !(family->planned && family->root == handle))
        return "writing by main() to a part of a planned partition, or to memory that is "
               "registered several times, is not protected yet";
    return NULL;
}

bool tic_access_on_acquire_before(starpu_data_handle_t data, bool reads, bool writes,
                                  const char *call)
{
    struct tic_handle *handle = tic_handle_of(data);
    struct tic_graph *graph = &tic_session->graph;

    if (!handle || !tic_session_is_owner()) {
        tic_session_unprotect(tic_session_place(call),
                              "accesses by a task, a callback or another thread are not "
                              "protected yet");
        tic_data_bring_up(handle);
        return false;
    }
    if (tic_handle_is_empty(handle))
        return false;
    note_access(handle, writes);
    tic_record_acquired(handle, writes);
    const struct tic_line_acquire *known = tic_graph_replay_acquire(graph);
    if (known) {
        check_access(handle, known, reads, writes);
        return replay_access(handle, known);
    }
    if (is_to_be_known(handle, reads, writes)) {
        const char *why = why_no_access(handle, writes);
        if (why) {
            tic_session_unprotect(call, why);
            return false;
        }
        tic_data_restore(handle, true);
    }
    return !tic_snapshot_is_broken(&tic_session->snapshot) && !tic_session->snapshot.options.dry;
}

/* With STARPU_W main() promises to read nothing, but its memory holds what tasks wrote. What it
 * wrote itself is there in a restart, too. */
static bool may_read(const struct tic_handle *handle)
{
    return handle->imaged && tic_data_holds_values(handle) &&
           atomic_load(&handle->saving.version) != handle->use.main_version;
}

void tic_access_on_acquire_after(starpu_data_handle_t data, bool reads, bool writes)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle->restart.repeats_access) {
        finish_replay(handle, writes);
        return;
    }
    if (!is_to_be_known(handle, reads, writes)) {
        note_plain(handle);
        handle->use.main_fills = writes && handle->imaged;
        return;
    }
    record_access(handle, reads || may_read(handle), writes);
    handle->use.main_writes = writes;
}

void tic_access_on_release_first(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle)
        tic_callback_access_end_replay(handle);
}

/* A cut that has the write has this epoch or a later one. */
static void touch(struct tic_handle *handle)
{
    if (atomic_load(&handle->use.mentioned) && !tic_data_holds_values(handle))
        tic_addresses_note(handle);
    tic_snapshot_touch(&tic_session->snapshot, handle);
    tic_record_written(handle);
}

void tic_access_on_release_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle && tic_callback_access_give_back(handle))
        return;
    if (handle && tic_session_is_owner() && tic_session_context() == TIC_CONTEXT_MAIN)
        tic_snapshot_note_main(&tic_session->snapshot, TIC_HISTORY_RELEASE, handle->id);
    if (handle && handle->use.main_fills && !handle->restart.pending)
        touch(handle);
    if (handle)
        handle->use.main_fills = false;
    if (!handle || !handle->use.main_writes)
        return;
    handle->use.main_writes = false;
    /* In the recovered cut, a later value, or a later write by main(), stands for this one. */
    if (handle->restart.pending || (handle->family && handle->family->pending) ||
        handle->restart.main_writes_left > 0 || tic_callback_access_expects(handle) ||
        tic_data_is_past_part(handle))
        return;
    handle->restart.live = true;
    handle->restart.delivered = false;
    if (handle->family)
        handle->family->live = true;
    tic_handle_locate_homeless(handle); /* no task of this run need have told where it is */
    touch(handle);
    handle->use.main_version = atomic_load(&handle->saving.version);
}

/* ---- starpu_data_acquire_try ---------------------------------------------------------------- */

static int64_t failures; /* owner thread only: since the last success */

/* An operation of main() that the recovered cut knows follows this try. */
static bool is_before_another(void)
{
    return tic_session->recovered && tic_clock_now() < tic_session->graph.recovered.clock;
}

/* A success is an event, with the number of failures before it. So where none is recorded, all
 * tries up to the recovered cut failed, and main() went on by that. */
enum tic_try tic_access_replay_try(void)
{
    int64_t expected = INT64_MAX;

    /* StarPU would grant what tasks in the queue of a replay are to write before. */
    if (!tic_session_is_owner() ||
        (!tic_graph_expects(&tic_session->graph, TIC_EVENT_TRY, &expected) &&
         !is_before_another() && !tic_replay_is_on()))
        return TIC_TRY_REALLY;
    if (failures < expected) {
        failures++;
        return TIC_TRY_FAIL;
    }
    tic_session_event(TIC_EVENT_TRY, &expected);
    failures = 0;
    return TIC_TRY_SUCCEED;
}

void tic_access_after_try(bool success)
{
    int64_t count = failures++;

    if (!success || !tic_session_is_owner())
        return;
    tic_session_event(TIC_EVENT_TRY, &count);
    failures = 0;
}
