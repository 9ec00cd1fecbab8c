/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/asked.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"
#include "session/context.h"
#include "store/ask.h"
#include "base/error.h"
#include "base/watch.h"

static _Atomic bool is_closed;
static _Atomic bool is_taking; /* a checkpoint that somebody has asked for */

struct wish {
    struct tic_session *session;
    struct tic_ask ask;
};

static void answer(struct tic_session *session, const struct tic_ask *ask, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

    if (text && !atomic_load(&is_closed))
        tic_ask_answer(session->store.path, ask, text); /* who asks sees that nothing comes */
    free(text);
    json_decref(object);
}

/* ---- status --------------------------------------------------------------------------------- */

static json_t *describe_tasks(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;

    tic_lock(&session->submit);
    uint64_t submitted = session->graph.signature.position + atomic_load(&session->spawned);
    tic_unlock(&session->submit);
    return json_pack(
        "{s:b, s:I, s:I, s:I, s:I, s:I}", "recovered", (int)session->recovered, "recovered_tasks",
        (json_int_t)session->recovered_tasks, "tasks_submitted", (json_int_t)submitted,
        "tasks_skipped", (json_int_t)atomic_load(&session->skipped), "tasks_executed",
        (json_int_t)(tic_cut_count_executed(&snapshot->cut) - atomic_load(&session->stand_ins)),
        "forced_used", (json_int_t)atomic_load(&session->forced_used));
}

static json_t *describe_status(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    double seconds = (double)(tic_nanoseconds(CLOCK_MONOTONIC) - snapshot->started_ns) * 1e-9;
    json_t *status =
        json_pack("{s:I, s:I, s:f, s:b, s:b, s:s, s:f, s:I, s:I, s:f, s:I}", "process",
                  (json_int_t)getpid(), "workers", (json_int_t)snapshot->about.workers, "seconds",
                  seconds, "protected", (int)!tic_snapshot_is_broken(snapshot), "suspended",
                  (int)tic_protection_is_suspended(&snapshot->protection), "protocol",
                  tic_protocol_names[session->settings.protocol], "period", snapshot->period,
                  "checkpoints", (json_int_t)atomic_load(&snapshot->counts.checkpoints),
                  "checkpoints_failed", (json_int_t)atomic_load(&snapshot->counts.failures),
                  "checkpoint_seconds", (double)atomic_load(&snapshot->pace.last_took_ns) * 1e-9,
                  "bytes_written", (json_int_t)atomic_load(&session->store.counts.bytes_written));

    json_object_update_new(status, describe_tasks(session));
    return status;
}

/* ---- checkpoint ----------------------------------------------------------------------------- */

static void *take_checkpoint(void *arg)
{
    struct wish *wish = arg;
    struct tic_session *session = wish->session;

    pthread_setname_np(pthread_self(), "tic-asked");
    int status = tic_snapshot_take(&session->snapshot);
    answer(session, &wish->ask,
           json_pack("{s:s, s:I}", "checkpoint",
                     status == 0   ? "taken"
                     : status == 1 ? "nothing"
                                   : "failed",
                     "checkpoints",
                     (json_int_t)atomic_load(&session->snapshot.counts.checkpoints)));
    free(wish);
    atomic_store(&is_taking, false);
    return NULL;
}

/* It may take as long as the longest task, and others go on asking. */
static void begin_checkpoint(struct tic_session *session, const struct tic_ask *ask)
{
    struct wish *wish = atomic_exchange(&is_taking, true) ? NULL : malloc(sizeof(*wish));
    pthread_t thread;

    if (wish) {
        *wish = (struct wish){session, *ask};
        if (tic_thread_start(&thread, take_checkpoint, wish) == 0) {
            pthread_detach(thread);
            return;
        }
        free(wish);
        atomic_store(&is_taking, false);
    }
    answer(session, ask, json_pack("{s:s}", "checkpoint", "busy"));
}

static void answer_question(struct tic_session *session)
{
    struct tic_ask ask;

    if (atomic_load(&is_closed) || !tic_ask_take(session->store.path, &ask))
        return;
    if (ask.kind == TIC_ASK_STATUS)
        answer(session, &ask, describe_status(session));
    else
        begin_checkpoint(session, &ask);
}

void tic_asked_close(void)
{
    atomic_store(&is_closed, true);
}

/* ---- the question of the command ------------------------------------------------------------- */

/* What a program shows while it runs: how far it is, if it is supervised or somebody asks. And its
 * end, when the supervisor was killed. */

/* Seconds between two looks: who watches sees no more of them than one in a second. */
#define LOOK 0.5

enum { LOOKS_TO_ASK = 2 }; /* looks from one for a question to the next */

static struct tic_watch watch;
static unsigned looks; /* its thread only */
static uint64_t seen;  /* its thread only: checkpoints at the last look */

static void show(_Atomic uint64_t *where, uint64_t value)
{
    atomic_store_explicit(where, value, memory_order_relaxed);
}

static void show_counts(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    struct tic_beacon_counts *counts = &session->beacon->counts;
    uint64_t checkpoints = atomic_load(&snapshot->counts.checkpoints);

    tic_lock(&session->submit);
    uint64_t submitted = session->graph.signature.position + atomic_load(&session->spawned);
    tic_unlock(&session->submit);
    show(&counts->to_skip, session->recovered_tasks);
    show(&counts->skipped, atomic_load(&session->skipped));
    show(&counts->executed, tic_cut_count_executed(&snapshot->cut) -
                                atomic_load(&session->stand_ins) +
                                atomic_load(&session->forced_used));
    show(&counts->submitted, submitted);
    if (checkpoints != seen) {
        show(&counts->line_ns, tic_nanoseconds(CLOCK_MONOTONIC));
        show(&counts->took_ns, atomic_load(&snapshot->pace.last_took_ns));
        show(&counts->checkpoints, checkpoints);
    }
    seen = checkpoints;
}

/* It would hold the recovery lines, and nobody would know of it or start it again. The system kills
 * with the supervisor what that one has started, but not what a shell or the like has. */
static void die_with_supervisor(void)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&error, 1, 0) == 1 && error.revents == POLLOUT) /* else a message might wait */
        tic_log(TIC_LOG_WARN, "starpu-tic run, which supervised this program, was killed: so is "
                              "the program. Start it again");
    kill(getpid(), SIGKILL);
}

static bool look(void *arg)
{
    struct tic_session *session = arg;

    if (tic_beacon_is_orphaned())
        die_with_supervisor();
    if (session->beacon)
        show_counts(session);
    if (session->settings.ask && !session->report && looks++ % LOOKS_TO_ASK == 0)
        answer_question(session);
    return true;
}

void tic_live_start(struct tic_session *session)
{
    bool may_ask = session->settings.ask && !session->report;

    if ((session->beacon || tic_beacon_is_guarded() || may_ask) && !watch.started)
        tic_watch_begin(&watch, LOOK, look, session);
}
