/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/access_callback.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/names.h"
#include "base/words.h"
#include "interpose/ending.h"
#include "interpose/callback_run.h"
#include "interpose/callback_redo.h"
#include "interpose/data.h"
#include "interpose/movable.h"
#include "interpose/reads.h"
#include "interpose/redo_values.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "real/real.h"
#include "replay/replay.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "session/uses.h"
#include "snapshot/extending.h"
#include "snapshot/ranks.h"
#include "snapshot/suspend.h"

/* What the keys of accesses are hashes of, besides numbers: FORMAT.md, /reads. */
enum { KEY_READS = 0x6361, KEY_WRITES = 0x6377 };

struct tic_callback_wait {
    struct tic_handle *handle;
    enum starpu_data_access_mode mode;
    uint64_t key;
    bool writes;
    bool logs;                  /* what it reads */
    struct tic_redo_user *user; /* until a replay has made it */
    bool replays;               /* it reads this: */
    struct tic_saved saved;
    struct tic_running_callback running;
    void (*callback)(void *);
    void *argument;
};

/* ---- what writes ----------------------------------------------------------------------------- */

static uint64_t key_of_write(const struct tic_handle *handle, uint64_t number)
{
    uint64_t words[3] = {KEY_WRITES, handle->id, number};

    return tic_words_hash(words, 3, 0) | TIC_SPAWN_KEY;
}

/* The read of a write is recorded in the epoch in which the value before it was given up: this is
 * known of what was granted by the recovered cut, and of nothing else. */
static bool find_value(uint64_t key, struct tic_saved *saved)
{
    struct tic_line_read read;
    bool found = tic_graph_find_read(&tic_session->graph, key, 0, &read);

    if (found)
        *saved = (struct tic_saved){{read.extent, read.row}, read.checksum};
    return found;
}

static bool expects_locked(const struct tic_handle *handle)
{
    struct tic_saved saved;

    return handle->use.by_callback.replayed > 0 ||
           find_value(key_of_write(handle, handle->use.by_callback.asked), &saved);
}

bool tic_callback_access_expects(struct tic_handle *handle)
{
    tic_lock(&tic_session->submit);
    bool expects = expects_locked(handle);
    tic_unlock(&tic_session->submit);
    return expects;
}

/* To accesses after it, main() has submitted a task that writes. */
static void note_write(struct tic_callback_wait *wait)
{
    struct tic_handle *handle = wait->handle;
    struct tic_by_callback *by_callback = &handle->use.by_callback;

    tic_lock(&tic_session->submit);
    by_callback->open++;
    by_callback->replayed += wait->replays;
    if (!wait->replays)
        tic_data_restore_locked(handle, false);
    tic_data_note_main_use(handle, true, tic_session->graph.signature.position + 1);
    tic_data_note_write(handle, !wait->replays);
    tic_unlock(&tic_session->submit);
}

/* What is there now, and that a cut between this and the end of the access has no value. */
static int record(struct tic_handle *handle, uint64_t key)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_saved saved;
    bool fresh;

    tic_handle_locate_homeless(handle);
    int status = tic_snapshot_log_value(snapshot, handle, &saved, &fresh);
    if (status)
        return status;
    const struct tic_line_read read = {key, 0, saved.row.extent, saved.row.row, saved.checksum};
    status = tic_snapshot_hold_by_callback(snapshot, handle, &read);
    if (fresh)
        tic_rows_settle(&snapshot->store->rows, saved.row);
    return status;
}

static void begin_writing(struct tic_callback_wait *wait)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_handle *handle = wait->handle;

    if (handle->family)
        tic_session_unprotect("starpu_data_acquire_cb",
                              "accesses with a callback that write memory which is shared, or in a "
                              "planned partition, are not protected yet");
    tic_snapshot_begin_callback(snapshot, wait->key, &wait->running);
    tic_failpoint(TIC_FAIL_CALLBACK_GRANTED);
    atomic_store(&handle->use.by_callback.held, wait->replays ? TIC_HELD_REPLAYED : TIC_HELD_LIVE);
    if (!wait->replays && !tic_snapshot_is_broken(snapshot) && !snapshot->options.dry) {
        int status = record(handle, wait->key);
        if (status && status != -ECANCELED)
            tic_snapshot_break(snapshot, "cannot keep what a callback read: %s",
                               tic_snapshot_reason(status));
    }
}

void tic_callback_access_end_replay(struct tic_handle *handle)
{
    struct tic_by_callback *by_callback = &handle->use.by_callback;

    if (atomic_load(&by_callback->held) != TIC_HELD_REPLAYED)
        return;
    tic_lock(&tic_session->submit);
    by_callback->replayed--;
    if (by_callback->replayed == 0 && by_callback->put_off) {
        struct tic_saved saved = tic_data_recovered_value(handle);
        tic_data_expose_locked(handle, &saved);
        by_callback->put_off = false;
        handle->restart.pending = false;
        handle->restart.live = true;
        handle->restart.restored = true;
    }
    tic_unlock(&tic_session->submit);
}

/* In the recovered cut a value that the line has, or another write, stands for what it wrote. */
static bool is_covered_locked(const struct tic_handle *handle)
{
    return handle->restart.pending || handle->restart.restored ||
           handle->restart.main_writes_left > 0 || expects_locked(handle);
}

bool tic_callback_access_give_back(struct tic_handle *handle)
{
    struct tic_by_callback *by_callback = &handle->use.by_callback;
    uint8_t held = atomic_exchange(&by_callback->held, TIC_HELD_NOT);

    if (held == TIC_HELD_NOT)
        return false;
    tic_lock(&tic_session->submit);
    by_callback->open--;
    bool covered = held == TIC_HELD_REPLAYED && is_covered_locked(handle);
    handle->restart.live |= !covered;
    tic_unlock(&tic_session->submit);
    if (!covered) {
        tic_handle_locate_homeless(handle);
        tic_snapshot_touch(&tic_session->snapshot, handle);
    }
    return true;
}

/* ---- data that goes -------------------------------------------------------------------------- */

static bool is_any_open(struct tic_handle *handle)
{
    if (!tic_session->waits_by_callback)
        return false;
    tic_lock(&tic_session->submit);
    bool open = handle->use.by_callback.open > 0;
    tic_unlock(&tic_session->submit);
    return open;
}

void tic_callback_access_settle(struct tic_handle *handle)
{
    if (is_any_open(handle))
        tic_data_wait(handle);
}

void tic_callback_access_refuse_open(struct tic_handle *handle, const char *call)
{
    if (is_any_open(handle))
        tic_session_unprotect(call,
                              "data to which accesses with a callback that write are not given "
                              "back is not protected yet here");
}

/* ---- what comes by callback ------------------------------------------------------------------ */

static void begin_reading(struct tic_callback_wait *wait)
{
    if (wait->logs)
        tic_reads_log_access(wait->handle, wait->key);
    if (atomic_load(&tic_session->watching))
        tic_snapshot_begin_callback(&tic_session->snapshot, wait->key, &wait->running);
}

static void granted_now(void *arg)
{
    struct tic_callback_wait wait = *(struct tic_callback_wait *)arg;

    free(arg);
    wait.running = tic_callback_here(wait.key);
    wait.running.of_access = true;
    tic_movable_found(wait.handle);
    tic_callback_open();
    tic_extension_stop(&tic_session->snapshot);
    if (wait.writes)
        begin_writing(&wait);
    else
        begin_reading(&wait);
    tic_callback_run(wait.callback, wait.argument, &wait.running);
    tic_callback_close(&wait.running);
}

static void granted(void *arg)
{
    if (!tic_callback_is_put_off() || !tic_replay_keep_call(granted_now, arg))
        granted_now(arg);
}

static const char *why_no_write(const struct tic_handle *handle, enum starpu_data_access_mode mode,
                                bool ordered)
{
    if (mode & ~(unsigned)STARPU_RW)
        return "accesses with a callback are protected for STARPU_R, STARPU_W and STARPU_RW only";
    if (!handle->supported)
        return "accesses with a callback to data that cannot be saved are not protected yet";
    if (handle->family || handle->parent || atomic_load(&handle->saving.split))
        return "accesses with a callback that write parts of partitions, or memory that is shared, "
               "are not protected yet";
    if (!ordered || !tic_real.starpu_data_get_sequential_consistency_flag(handle->data))
        return "accesses with a callback that write without sequential consistency are not "
               "protected yet";
    return NULL;
}

static const char *why_not(const struct tic_handle *handle, enum starpu_data_access_mode mode,
                           bool ordered)
{
    if (!tic_session_is_owner())
        return "accesses with a callback that tasks, callbacks or other threads ask for are not "
               "protected yet";
    if (!handle || (!handle->supported && tic_data_holds_values(handle)))
        return "accesses with a callback to data that cannot be saved are not protected yet";
    if (tic_handle_is_excluded(handle))
        return "accesses with a callback to data that no recovery line holds "
               "(starpu_tic_data_exclude) are not protected yet";
    if (mode != STARPU_R && !tic_handle_is_empty(handle))
        return why_no_write(handle, mode, ordered);
    return NULL;
}

static void ask_to_read(struct tic_callback_wait *wait)
{
    /* What main() made is made again; what tasks wrote is logged. */
    wait->logs = tic_data_holds_values(wait->handle);
    if (wait->logs)
        tic_data_restore(wait->handle, false);
}

/* The next one of this kind. */
static uint64_t next_key(struct tic_handle *handle, bool writes)
{
    static uint64_t count; /* owner thread only */

    if (writes) {
        tic_lock(&tic_session->submit);
        uint64_t key = key_of_write(handle, handle->use.by_callback.asked++);
        tic_unlock(&tic_session->submit);
        return key;
    }
    uint64_t words[2] = {KEY_READS, count++};
    return tic_words_hash(words, 2, 0) | TIC_SPAWN_KEY;
}

struct tic_callback_wait *tic_callback_access_note(starpu_data_handle_t data,
                                                   enum starpu_data_access_mode mode, bool ordered,
                                                   void (*callback)(void *), void *argument)
{
    struct tic_handle *handle = tic_handle_of(data);
    const char *why = why_not(handle, mode, ordered);
    struct tic_callback_wait *wait = why ? NULL : malloc(sizeof(*wait));

    if (!wait) {
        tic_session_unprotect(tic_session_place("starpu_data_acquire_cb"),
                              why ? why : "out of memory");
        tic_data_bring_up(handle);
        return NULL;
    }
    tic_session->waits_by_callback = true;
    tic_snapshot_note_race(&tic_session->snapshot, "starpu_data_acquire_cb",
                           "the order of callbacks of accesses is not the same in each run");
    atomic_store_explicit(&tic_session->racy, true, memory_order_relaxed);
    bool writes = mode & STARPU_W && !tic_handle_is_empty(handle);
    *wait = (struct tic_callback_wait){.handle = handle,
                                       .mode = mode,
                                       .key = next_key(handle, writes),
                                       .writes = writes,
                                       .callback = callback,
                                       .argument = argument};
    return wait;
}

void tic_callback_access_ask(struct tic_callback_wait *wait, void (**callback)(void *),
                             void **argument)
{
    tic_session->asking = wait->key + 1;
    if (wait->writes)
        note_write(wait);
    else
        ask_to_read(wait);
    tic_data_note_hold(wait->handle, true);
    *callback = granted;
    *argument = wait;
}

/* ---- redone ---------------------------------------------------------------------------------- */

/* Whoever had it before has given it back, or is about to. Memory is written while nobody else has
 * it; but StarPU may know nothing there, and must be told before. */
static void take(void *arg)
{
    struct tic_callback_wait *wait = arg;
    struct tic_handle *handle = wait->handle;
    bool direct = tic_data_is_in_place(handle) &&
                  (handle->family || tic_nodes_holds_alone(handle->data, handle->home_node));

    tic_redo_make_calls(wait->user);
    if (wait->replays)
        tic_snapshot_hold_again(&tic_session->snapshot, handle);
    if (!direct && wait->replays)
        tic_redo_show(handle, &wait->saved);
    tic_guard++;
    if (tic_real.starpu_data_acquire_on_node(handle->data, STARPU_MAIN_RAM, wait->mode) != 0)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot continue from %s: StarPU does not give access to data %llu%s",
                 tic_session->store.path, (unsigned long long)handle->id, tic_name_of(handle->id));
    tic_guard--;
    if (direct && wait->replays)
        tic_redo_show(handle, &wait->saved);
    tic_data_note_hold(handle, true);
    tic_redo_end_use(wait->user);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* Else StarPU grants it when somebody else has given the data back. */
static bool is_granted_now(const struct tic_callback_wait *wait)
{
    const struct tic_handle *handle = wait->handle;

    return !tic_replay_is_made() || atomic_load(&handle->use.holds) == 0 ||
           (!wait->writes && !handle->use.main_writes && handle->use.by_callback.open == 0);
}

/* One that writes, and whose value the cut does not have, had done nothing by then. */
bool tic_callback_access_redo(struct tic_callback_wait *wait)
{
    struct tic_handle *handle = wait->handle;
    struct tic_replay_actor taken = {.begin = take, .run = granted_now, .argument = wait},
                            nothing = {.run = do_nothing};
    const bool now = is_granted_now(wait);

    wait->replays = find_value(wait->key, &wait->saved);
    bool takes = wait->replays || !wait->writes;
    if (wait->writes && takes)
        note_write(wait);
    wait->user = tic_redo_create_user(wait->key, 1);
    wait->user->handles[0] = handle;
    tic_redo_note_user(wait->user);
    if (!takes)
        tic_replay_add_actor(TIC_HISTORY_CALLBACK, wait->key, &nothing, now);
    else if (tic_callback_add_actor(wait->key, &taken, now, STARPU_NMAX_SCHED_CTXS, NULL))
        return true;
    tic_redo_end_use(wait->user);
    wait->replays = false;
    return false;
}
