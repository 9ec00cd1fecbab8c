/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program shows while it runs: how far it is, if it is supervised or somebody asks. And its
 * end, when the supervisor was killed. */
#include "report/live.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "base/watch.h"
#include "report/asked.h"
#include "session/context.h"

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
        tic_asked_look(session);
    return true;
}

void tic_live_start(struct tic_session *session)
{
    bool may_ask = session->settings.ask && !session->report;

    if ((session->beacon || tic_beacon_is_guarded() || may_ask) && !watch.started)
        tic_watch_begin(&watch, LOOK, look, session);
}
