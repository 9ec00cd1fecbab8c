/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() reads and writes: recorded, and replayed; accesses that may fail, and those that come
 * by callback. */
#include "interpose/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/words.h"
#include "graph/family.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/ending.h"
#include "interpose/events.h"
#include "interpose/later.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/older.h"
#include "interpose/order.h"
#include "interpose/place.h"
#include "interpose/reads.h"
#include "interpose/record.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "interpose/shown.h"
#include "session/uses.h"
#include "real/real.h"
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

static void stop_unknown(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "cannot continue from %s: main() accesses handle %llu (number of registration), whose "
             "value is already the one of a later task, and it cannot be told what it was. Nothing "
             "was overwritten",
             tic_session->store.path, (unsigned long long)handle->id);
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
                 "the replay differs from the recorded run: main() accesses handle %llu, and "
                 "accessed handle %llu (numbers of registration) in the recorded run",
                 (unsigned long long)handle->id, (unsigned long long)known->id);
    if (!is_plain(known) && known->writes != (uint32_t)writes)
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: main() accesses handle %llu (number of "
                 "registration) %s, and accessed it %s in the recorded run",
                 (unsigned long long)handle->id, name_of_mode(reads, writes),
                 name_of_recorded(known));
}

/* The access belongs to the recovered cut: delivers what it read then. True when that must wait
 * until it is granted. */
static bool replay_access(struct tic_handle *handle, const struct tic_line_acquire *known,
                          bool writes)
{
    if (is_plain(known))
        return false;
    handle->main_writes = writes;
    handle->main_writes_left -= writes && handle->main_writes_left > 0;
    handle->replayed.saved = (struct tic_saved){{known->extent, known->row}, known->checksum};
    handle->replayed.read = known->recorded;
    if (tic_data_is_live(handle))
        return true;
    if (known->recorded && atomic_load(&handle->holds) == 0) {
        tic_shown_take(handle, &handle->replayed.saved);
        tic_data_deliver(handle, &handle->replayed.saved);
        tic_shown_give(handle);
    }
    return false;
}

/* A task that is not done uses the data, or its family, already. The access is granted. */
static void replay_late(struct tic_handle *handle, bool writes)
{
    if (writes && handle->family)
        stop_unknown(handle);
    if (handle->replayed.read)
        tic_data_show(handle, &handle->replayed.saved);
    else if (handle->restored)
        tic_data_set_aside(handle);
}

static void record_access(struct tic_handle *handle, bool reads, bool writes)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_line_acquire access = {.id = handle->id, .writes = writes, .recorded = reads};
    struct tic_saved saved = {.checksum = 0};
    bool fresh = false;
    int status = reads ? tic_snapshot_log_value(snapshot, handle, &saved, &fresh) : 0;

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

/* What main() made itself need not be known, but for what is compared with memory. */
static bool is_to_be_known(const struct tic_handle *handle, bool reads, bool writes)
{
    return tic_data_holds_values(handle) ||
           (handle->imaged && (reads || writes) && !(writes && handle->family));
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
    tic_order_wait(handle, writes);
    if (tic_handle_is_empty(handle))
        return false;
    note_access(handle, writes);
    tic_record_acquired(handle, true, writes);
    const struct tic_line_acquire *known = tic_graph_replay_acquire(graph);
    if (known) {
        check_access(handle, known, reads, writes);
        return handle->replayed.late = replay_access(handle, known, writes);
    }
    if (!is_to_be_known(handle, reads, writes)) {
        struct tic_line_acquire plain = {.id = handle->id};
        if (tic_snapshot_note_acquire(&tic_session->snapshot, &plain) != 0)
            tic_snapshot_break(&tic_session->snapshot, "out of memory");
        handle->main_fills = writes && handle->imaged;
        return false;
    }
    const char *why = why_no_access(handle, writes);
    if (why) {
        tic_session_unprotect(call, why);
        return false;
    }
    tic_data_restore(handle, true);
    return !tic_snapshot_is_broken(&tic_session->snapshot) && !tic_session->snapshot.options.dry;
}

/* With STARPU_W main() promises to read nothing, but its memory holds what tasks wrote. What it
 * wrote itself is there in a restart, too. */
static bool may_read(const struct tic_handle *handle)
{
    return handle->imaged && tic_data_holds_values(handle) &&
           atomic_load(&handle->version) != handle->main_version;
}

void tic_access_on_acquire_after(starpu_data_handle_t data, bool reads, bool writes)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle->replayed.late) {
        handle->replayed.late = false;
        replay_late(handle, writes);
        return;
    }
    record_access(handle, reads || may_read(handle), writes);
    handle->main_writes = writes;
}

void tic_access_note_hold(starpu_data_handle_t data, bool holds)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!handle || (!holds && atomic_load(&handle->holds) == 0))
        return;
    atomic_fetch_add(&handle->holds, holds ? 1u : -1u);
    atomic_fetch_add(&tic_session->holds, holds ? 1u : -1u);
}

void tic_access_on_release_first(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle && handle->set_aside)
        tic_data_put_back(handle);
}

void tic_access_on_release_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (handle && handle->main_fills && !handle->pending)
        tic_snapshot_touch(&tic_session->snapshot, handle);
    if (handle)
        handle->main_fills = false;
    if (!handle || !handle->main_writes)
        return;
    handle->main_writes = false;
    /* In the recovered cut, a later value, or a later write by main(), stands for this one. */
    if (handle->pending || (handle->family && handle->family->pending) ||
        handle->main_writes_left > 0 || tic_data_is_past_part(handle))
        return;
    handle->live = true;
    if (handle->family)
        handle->family->live = true;
    tic_handle_locate_homeless(handle); /* no task of this run need have told where it is */
    tic_snapshot_touch(&tic_session->snapshot, handle);
    handle->main_version = atomic_load(&handle->version);
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

    if (!tic_session_is_owner() ||
        (!tic_graph_expects(&tic_session->graph, TIC_EVENT_TRY, &expected) && !is_before_another()))
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

/* ---- starpu_data_acquire_cb ----------------------------------------------------------------- */

struct wait {
    struct tic_handle *handle;
    uint64_t key;
    bool logs;    /* what it reads */
    bool unknown; /* no value that it read is recorded */
    bool replays; /* it reads this */
    struct tic_saved saved;
    void (*callback)(void *);
    void *argument;
};

static __thread bool running __attribute__((tls_model("initial-exec")));

bool tic_access_is_running(void)
{
    return running;
}

static void run(void (*callback)(void *), void *argument)
{
    running = true;
    tic_callback_run(callback, argument);
    running = false;
}

static void granted_now(void *arg)
{
    struct wait wait = *(struct wait *)arg;

    free(arg);
    if (wait.logs)
        tic_reads_log_access(wait.handle, wait.key);
    if (wait.replays)
        tic_data_show(wait.handle, &wait.saved);
    if (tic_session->settings.verify > 0 && atomic_load(&tic_session->watching) &&
        tic_snapshot_note_callback(&tic_session->snapshot, wait.key) != 0)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
    run(wait.callback, wait.argument);
}

/* In a restart StarPU may grant it before main() has come to the recovered cut, and before the
 * value is there. If it had been granted by then, what it read was made by main(), which makes it
 * again, or is recorded. */
static void granted(void *arg)
{
    const struct wait *wait = arg;
    bool held = false;

    if (tic_position_is_ahead() && wait->unknown) {
        tic_lock(&tic_session->submit);
        held = tic_clock_hold_locked(wait->key, granted_now, arg, false);
        tic_unlock(&tic_session->submit);
    }
    if (!held)
        granted_now(arg);
}

static const char *why_not(const struct tic_handle *handle, enum starpu_data_access_mode mode)
{
    if (!tic_session_is_owner())
        return "accesses with a callback that tasks, callbacks or other threads ask for are not "
               "protected yet";
    if (tic_nodes_several)
        return "accesses with a callback are not protected yet where StarPU has several memory "
               "nodes";
    if (!handle || (!handle->supported && tic_data_holds_values(handle)))
        return "accesses with a callback to data that cannot be saved are not protected yet";
    if (mode != STARPU_R && !tic_handle_is_empty(handle))
        return "accesses with a callback that write are not protected yet";
    return NULL;
}

void tic_access_on_callback_before(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                                   void (**callback)(void *), void **argument)
{
    static uint64_t count; /* owner thread only */
    struct tic_handle *handle = tic_handle_of(data);
    struct tic_line_read read;
    const char *why = why_not(handle, mode);

    if (why) {
        tic_session_unprotect(tic_session_place("starpu_data_acquire_cb"), why);
        tic_data_bring_up(handle);
        return;
    }
    tic_session->waits_by_callback = true;
    atomic_store_explicit(&tic_session->racy, true, memory_order_relaxed);
    uint64_t words[2] = {UINT64_C(0x6361), count++};
    uint64_t key = tic_words_hash(words, 2, 0) | TIC_SPAWN_KEY;
    bool live = tic_data_is_live(handle);
    bool known = tic_graph_find_read(&tic_session->graph, key, 0, &read);
    struct tic_saved saved = {{read.extent, read.row}, read.checksum};
    struct wait *wait = malloc(sizeof(*wait));
    if (!wait) {
        tic_session_unprotect("starpu_data_acquire_cb", "out of memory");
        return;
    }
    /* Recorded accesses to what main() made read it again; the others what tasks wrote. */
    bool values = tic_data_holds_values(handle) && !known;
    if (values)
        tic_data_restore(handle, false);
    if (known && !live) { /* nobody uses it: StarPU gives the access now */
        tic_shown_take(handle, &saved);
        tic_data_deliver(handle, &saved);
    }
    *wait = (struct wait){handle, key, values, !known, known && live, saved, *callback, *argument};
    *callback = granted;
    *argument = wait;
    tic_access_note_hold(data, true);
    if (known && !live)
        tic_shown_give(handle);
}
