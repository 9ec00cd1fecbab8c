/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rank of several: what the library beside StarPU-MPI calls (base/ranks.h). */
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/content.h"
#include "base/error.h"
#include "base/thread.h"
#include "base/trace.h"
#include "base/words.h"
#include "interpose/answers.h"
#include "interpose/callback_redo.h"
#include "interpose/callback_run.h"
#include "interpose/ending.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/looks_replay.h"
#include "interpose/ranks.h"
#include "interpose/record.h"
#include "interpose/redo.h"
#include "interpose/redux.h"
#include "interpose/restore.h"
#include "interpose/shape.h"
#include "interpose/submit.h"
#include "interpose/typed.h"
#include "interpose/waits.h"
#include "real/real.h"
#include "session/lookup.h"
#include "session/ranks.h"
#include "session/uses.h"
#include "snapshot/ranks.h"

static void pass(enum tic_failpoint point)
{
    tic_failpoint(point);
}

static void guard(int by)
{
    tic_guard += by;
}

static const char *directory(void)
{
    return tic_session_watches() ? tic_ranks_job() : NULL;
}

static unsigned keep(void)
{
    return tic_session->store.keep;
}

static bool request(void)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (!tic_session_watches() || tic_snapshot_is_broken(snapshot))
        return false;
    tic_snapshot_request(snapshot);
    return true;
}

static void take(void)
{
    tic_snapshot_take(&tic_session->snapshot);
}

static void wake(void)
{
    tic_snapshot_wake(&tic_session->snapshot);
}

static void unprotect(const char *call, const char *why)
{
    if (tic_session_watches())
        tic_session_unprotect(tic_session_place(call), why);
}

static void give_up(const char *why)
{
    if (tic_session)
        tic_snapshot_break(&tic_session->snapshot, "no line of all ranks: %s", why);
}

/* NULL: protection has ended, or does so. */
static struct tic_handle *handle_of(void *data)
{
    struct tic_handle *handle = tic_session_watches() ? tic_handle_of(data) : NULL;

    if (tic_session_watches() && (!handle || !handle->supported))
        tic_snapshot_break(&tic_session->snapshot,
                           "data that cannot be saved and that a message is received into is not "
                           "protected yet");
    return handle;
}

static bool is_of_interest(const struct tic_handle *handle)
{
    return handle && !tic_handle_is_empty(handle) && !tic_handle_is_excluded(handle) &&
           !tic_snapshot_is_broken(&tic_session->snapshot);
}

/* ---- calls of main() and callbacks ----------------------------------------------------------- */

static bool is_main(void)
{
    return tic_session_is_watching() && tic_session_is_owner();
}

static bool knows(void *data)
{
    return tic_session_watches() && tic_handle_of(data);
}

static uint64_t position(void)
{
    return tic_session ? tic_session->graph.signature.position : 0;
}

static bool is_done(uint64_t task)
{
    return tic_doneset_contains(&tic_session->graph.done, task);
}

static const char *bound(void)
{
    const struct tic_session *session = tic_session;

    return session->graph.history.acted
               ? "there are callbacks, or tasks that write no data, which are not skipped"
           : atomic_load(&session->spawned) > 0 ? "there are tasks that others than main() submit"
                                                : NULL;
}

static bool describe(void *data, uint64_t *id, uint64_t *size)
{
    const struct tic_handle *handle = tic_session_watches() ? tic_handle_of(data) : NULL;

    if (!handle)
        return false;
    *id = handle->id;
    *size = handle->signed_size;
    return handle->supported && !handle->packer && !handle->family && !handle->parent &&
           !tic_handle_is_empty(handle) && !tic_handle_is_excluded(handle) &&
           tic_real.starpu_data_get_sequential_consistency_flag(data);
}

static uint64_t hash_input(void *data)
{
    const struct tic_handle *handle = tic_handle_of(data);

    return handle && handle->home_node >= 0 && handle->layout.base && !tic_data_holds_values(handle)
               ? tic_typed_hash(&handle->layout)
               : 0;
}

static bool is_callback(void)
{
    return tic_session_is_watching() && tic_session_context() == TIC_CONTEXT_CALLBACK &&
           !tic_callback_is_of_access();
}

/* What protection took over is complete before another rank may have it. */
static void fold(void *data)
{
    struct tic_handle *handle = tic_session_watches() ? tic_handle_of(data) : NULL;

    if (handle && is_main())
        tic_redux_fold(handle);
    else if (handle && tic_redux_is_open(handle))
        unprotect("a communication", "data of a reduction (STARPU_REDUX) that callbacks send or "
                                     "receive is not protected yet");
}

static void refuse_others(bool detached)
{
    if (tic_session_is_watching() && !tic_session_is_owner() && !(detached && is_callback()))
        tic_session_unprotect("a communication",
                              "those of others than main() are not protected yet, but detached ones"
                              " of callbacks");
    tic_callback_note_call(false);
}

static void operate(void *data, bool detached)
{
    fold(data);
    refuse_others(detached);
    tic_main_comes(false);
}

static void begin_wait(const void *frame)
{
    refuse_others(false);
    tic_wait_begin_around(frame);
}

static bool answer(bool ended)
{
    int64_t told = ended;

    if (is_main())
        tic_answer(TIC_starpu_mpi_test, 0, &told);
    else
        unprotect("starpu_mpi_test", "questions of others than main() are not protected yet");
    return told;
}

static bool reduces(void *data)
{
    struct tic_handle *handle = is_main() ? tic_handle_of(data) : NULL;

    return handle && handle->supported && !tic_handle_is_excluded(handle) &&
           tic_redux_has_methods(handle);
}

static void *open_share(void *data)
{
    return tic_redux_open_share(tic_handle_of(data));
}

static void add_share(void *data, void *share)
{
    tic_redux_add_share(tic_handle_of(data), share);
}

static void begin_anew(void *data)
{
    tic_redux_begin_anew(tic_handle_of(data));
}

static void await_tasks(void)
{
    starpu_task_wait_for_all();
}

static void stop(const char *why)
{
    tic_stop(TIC_EXIT_REFUSED, "cannot continue from %s: %s", tic_session->store.path, why);
}

static void start_again(const char *why)
{
    tic_stop(TIC_EXIT_DIFFERS, "%s", why);
}

static void note_asked(void *data, bool receives, bool done)
{
    struct tic_handle *handle = !tic_session_watches() ? NULL
                                : receives             ? handle_of(data)
                                                       : tic_handle_of(data);

    const char *blind = NULL, *why = NULL;

    if (!handle || !tic_session_watches())
        return;
    tic_lock(&tic_session->submit);
    if (receives) {
        tic_data_note_write(handle, !done);
        if (done)
            tic_looks_note_skipped_locked(handle);
        why = tic_submit_refuse_message_locked(handle, &blind);
    }
    tic_unlock(&tic_session->submit);
    if (why)
        tic_session_unprotect(blind, why);
    if (!done && is_main())
        tic_record_message(handle, receives);
    else if (!done)
        tic_snapshot_note_race(&tic_session->snapshot, "a message", "a callback asks for it");
}

/* A send reads what a result left to be read at need, and a receive writes over it; later results
 * take their place behind. */
static void note_made(void *data, bool receives)
{
    struct tic_handle *handle = tic_session_watches() ? tic_handle_of(data) : NULL;

    if (!handle || !tic_session->snapshot.recovery.with_ranks)
        return;
    tic_lock(&tic_session->submit);
    handle->use.touched = true;
    if (!receives)
        tic_data_restore_locked(handle, false);
    else if (handle->restart.adopted)
        handle->restart.pending = false;
    tic_unlock(&tic_session->submit);
}

/* A restart makes it again until a line has it, which has this use then, too. */
static void note_use(struct tic_handle *handle)
{
    if (tic_session->snapshot.options.log_all)
        tic_reuse_note_use(handle, &tic_session->snapshot.cut);
}

static void note_begun(void *data)
{
    struct tic_handle *handle = tic_session_watches() ? tic_handle_of(data) : NULL;

    if (handle)
        note_use(handle);
}

static bool logs(void)
{
    return tic_session_watches() && tic_session->snapshot.options.log_all;
}

static bool keeps(void)
{
    return (is_main() || is_callback()) && tic_redo_keeps();
}

static bool queue(void *data, void (*play)(void *), const void *arg, size_t size)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!handle)
        stop("a message of data that it does not know");
    return tic_redo_queue(handle, play, arg, size);
}

static void acquire(void *data, void (*callback)(void *), void *arg)
{
    tic_guard++;
    int status =
        tic_real.starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, STARPU_W, callback, arg);
    tic_guard--;
    if (status)
        stop("StarPU does not give access to data of a message");
}

static void release(void *data)
{
    tic_guard++;
    tic_real.starpu_data_release_on_node(data, STARPU_MAIN_RAM);
    tic_guard--;
}

/* ---- callbacks of messages ------------------------------------------------------------------- */

enum { KEY_MESSAGES = 0x636d }; /* FORMAT.md, /history */

struct callback {
    uint64_t key;
    void (*run)(void *);
    void *argument;
    struct tic_small small; /* what has come */
    TAILQ_ENTRY(callback) next;
};

/* Messages of a channel end in their order, and so come their callbacks, one at a time on the
 * thread of StarPU-MPI. In a restart some come on workers, when the queue has been played, and
 * those of messages that end later come behind them. */
static struct {
    pthread_mutex_t mutex; /* a leaf */
    TAILQ_HEAD(, callback) waiting;
    bool runs; /* one of them */
} turns = {PTHREAD_MUTEX_INITIALIZER, TAILQ_HEAD_INITIALIZER(turns.waiting), false};

/* On the thread of StarPU-MPI; or on any, also inside of another one, where what was received early
 * comes to its data. */
static void run_callback(void *arg)
{
    const struct callback callback = *(struct callback *)arg;

    free(arg);
    tic_looks_note_callback(&callback.small, callback.key);
    tic_callback_begin(callback.key, callback.run, callback.argument);
}

static struct callback *take_turn_locked(void)
{
    struct callback *callback = turns.runs ? NULL : TAILQ_FIRST(&turns.waiting);

    if (callback)
        TAILQ_REMOVE(&turns.waiting, callback, next);
    turns.runs |= callback != NULL;
    return callback;
}

/* As many have been played as wait. Another one may run them, too. */
static void run_turns(void *arg)
{
    struct callback *callback;

    (void)arg;
    pthread_mutex_lock(&turns.mutex);
    while ((callback = take_turn_locked()) != NULL) {
        pthread_mutex_unlock(&turns.mutex);
        run_callback(callback);
        pthread_mutex_lock(&turns.mutex);
        turns.runs = false;
    }
    pthread_mutex_unlock(&turns.mutex);
}

static bool waits_for_turn(struct callback *callback)
{
    pthread_mutex_lock(&turns.mutex);
    bool waits = tic_replay_is_on() || turns.runs || !TAILQ_EMPTY(&turns.waiting);
    if (waits)
        TAILQ_INSERT_TAIL(&turns.waiting, callback, next);
    pthread_mutex_unlock(&turns.mutex);
    return waits;
}

static void call_back(void *arg)
{
    const struct callback *callback = arg;

    if (tic_replay_is_on() && tic_callback_redo(callback->key, run_callback, arg))
        return;
    if (waits_for_turn(arg))
        tic_callback_play(run_turns, NULL);
    else
        run_callback(arg);
}

static bool wrap(void *data, const uint64_t *name, void (**run)(void *), void **argument)
{
    struct callback *callback = tic_session_watches() ? malloc(sizeof(*callback)) : NULL;
    const struct tic_handle *handle = callback && data ? tic_handle_of(data) : NULL;

    if (!callback)
        return !tic_session_watches();
    *callback = (struct callback){.key = tic_words_hash(name, 4, KEY_MESSAGES) | TIC_SPAWN_KEY,
                                  .run = *run,
                                  .argument = *argument};
    if (handle && handle->use.look)
        callback->small = (struct tic_small){.count = 1, .ids = {handle->id}};
    *run = call_back;
    *argument = callback;
    return true;
}

/* ---- what messages bring --------------------------------------------------------------------- */

static bool locate(void *data, struct tic_handle **handle)
{
    *handle = handle_of(data);
    if (*handle)
        tic_handle_locate_homeless(*handle);
    return *handle && (*handle)->supported && !(*handle)->packer && (*handle)->layout.base;
}

static void *copy(void *data, size_t *size)
{
    struct tic_handle *handle;
    uint64_t sum;

    if (!locate(data, &handle))
        return NULL;
    *size = tic_shape_bytes(&handle->layout.shape);
    void *bytes = malloc(*size + 1);
    if (bytes && tic_layout_pack(&handle->layout, bytes, &sum) != 0) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static bool fill(void *data, const void *bytes, size_t size)
{
    struct tic_handle *handle;

    if (!locate(data, &handle) || tic_shape_bytes(&handle->layout.shape) != size)
        return false;
    struct tic_layout from = tic_layout_packed(&handle->layout.shape, (char *)bytes);
    tic_layout_copy(&handle->layout, &from);
    return true;
}

/* A value that a message brings is written as if at its end, at once: no line has a part of it. */
static void note_granted(void *data)
{
    struct tic_handle *handle = handle_of(data);

    if (!is_of_interest(handle))
        return;
    tic_handle_locate_homeless(handle);
    tic_snapshot_need(&tic_session->snapshot,
                      tic_snapshot_hold(&tic_session->snapshot, handle, NULL) == 0);
}

static void note_received(void *data, void (*note)(void *arg), void *arg)
{
    struct tic_handle *handle = handle_of(data);

    if (!is_of_interest(handle)) {
        note(arg);
        return;
    }
    tic_looks_note_write(handle);
    tic_handle_locate_homeless(handle);
    tic_snapshot_touch_noting(&tic_session->snapshot, handle, note, arg);
    note_use(handle);
}

static void note_hold(double since)
{
    tic_trace_put("hold", ", \"begin\": %.6f", tic_trace_time((uint64_t)(since * 1e9)));
}

WRAPPER const struct tic_ranks_core *starpu_tic_ranks_attach(const struct tic_ranks *library)
{
    static struct tic_ranks_core core;

    if (!tic_ranks_take(library))
        return NULL;
    core = (struct tic_ranks_core){
        .rank = tic_ranks_rank(),
        .count = tic_ranks_count(),
        .log = tic_log,
        .start_thread = tic_thread_start,
        .pass = pass,
        .guard = guard,
        .directory = directory,
        .keep = keep,
        .logs = logs,
        .hash = tic_content_hash,
        .note_hold = note_hold,
        .request = request,
        .take = take,
        .wake = wake,
        .unprotect = unprotect,
        .stop = stop,
        .start_again = start_again,
        .give_up = give_up,
        .open_part = tic_ranks_open_part,
        .part_value = tic_ranks_part_value,
        .tasks.knows = knows,
        .tasks.is_main = is_main,
        .tasks.position = position,
        .tasks.is_done = is_done,
        .tasks.bound = bound,
        .tasks.describe = describe,
        .tasks.hash_input = hash_input,
        .messages.operate = operate,
        .messages.begin_wait = begin_wait,
        .messages.end_wait = tic_wait_end_around,
        .messages.answer = answer,
        .reductions.reduces = reduces,
        .reductions.open_share = open_share,
        .reductions.add_share = add_share,
        .reductions.begin_anew = begin_anew,
        .reductions.await_tasks = await_tasks,
        .messages.note_asked = note_asked,
        .messages.note_made = note_made,
        .messages.note_begun = note_begun,
        .messages.keeps = keeps,
        .messages.queue = queue,
        .messages.wrap = wrap,
        .messages.acquire = acquire,
        .messages.release = release,
        .messages.copy = copy,
        .messages.fill = fill,
        .messages.note_granted = note_granted,
        .messages.note_received = note_received,
    };
    return &core;
}
