/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in its program main() was at the recovered cut. The values of a line are those of the begin
 * of one operation of main(): what main() did by its own pointers before that is in them, what it
 * did later is not. So a restart gives them back when main() begins this operation, no earlier and
 * no later; tasks that were not done then, and that main() has submitted before, wait for it, and
 * so nothing runs on memory that is not restored yet, declared or not.
 *
 * Nothing that main() waits for before that operation can be among these tasks: it had come there
 * without them. */
#include "interpose/position.h"

#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "base/watch.h"
#include "session/context.h"
#include "replay/replay.h"
#include "real/real.h"
#include "recovery/recovery.h"

/* Versions up to 0.2 did not note where main() was if STARPU_TIC_VERIFY was 0. */
static void check_kind(const struct tic_session *session)
{
    if (session->recovered && !session->settings.report[0] && session->settings.verify > 0 &&
        !session->graph.recovered.positioned)
        tic_stop(TIC_EXIT_REFUSED,
                 "the recovery lines in %s were written with STARPU_TIC_VERIFY=0: start with that, "
                 "too; or start over: name another STARPU_TIC_DIR, or remove it",
                 session->store.path);
}

/* ---- a main() that waits where it did not -----------------------------------------------------
 */

static struct {
    bool begun; /* owner thread only */
    long owner; /* immutable: its thread, for the system */
    struct tic_watch watch;
    uint64_t calls, executed; /* the watch only: of its last look */
    unsigned long reads;      /* the same */
    uint64_t arrived;         /* the watch only: main()'s clock when it had arrived; or 0 */
    bool slept;               /* the watch only: main(), at its last look */
    bool told, told_slow;     /* the watch only */
} stuck;

/* Seconds between two looks, at least: main() may not get a processor for some time. */
#define LOOK_AT_LEAST 0.5

/* Has main() gone on since it arrived? */
static bool goes_on(void)
{
    if (stuck.arrived == 0)
        stuck.arrived = tic_clock_now();
    return tic_clock_now() != stuck.arrived;
}

/* It may be waiting for another thread of the program, too, or another rank. With VERIFY=0 it is
 * not known where. */
static void tell_waits(bool outside)
{
    if (!stuck.told)
        tic_log(TIC_LOG_WARN, "the replay stands still: main() waits%s; starpu-tic explain still",
                outside ? " outside of StarPU, for a lock or the like" : "");
    stuck.told = true;
}

/* One of them may wait for main(), and main() for another one, which has no worker. */
static void tell_starved(unsigned kernels)
{
    unsigned workers = tic_real.starpu_worker_get_count();

    if (stuck.told || kernels <= workers)
        return;
    stuck.told = true;
    tic_log(TIC_LOG_WARN,
            "the replay may stand still: tasks without output at once: %u, workers: %u; "
            "starpu-tic explain still",
            kernels, workers);
}

static bool is_reading(const struct tic_reading *reading)
{
    return atomic_load(&reading->ended) != atomic_load(&reading->begun);
}

/* main() and tasks wait for values. A store that answers slowly, or a value of many gigabytes,
 * takes as long as it takes. */
static bool look_for_reads(const struct tic_store *store)
{
    unsigned long ended = atomic_load(&store->reading.ended);
    bool goes_on = ended != stuck.reads, reads = is_reading(&store->reading);

    stuck.reads = ended;
    if (reads && !goes_on && !stuck.told_slow) {
        tic_log(TIC_LOG_WARN,
                "%s answers slowly: a value is being read since %.3g seconds or more. The restart "
                "waits for it",
                store->path, stuck.watch.seconds);
        stuck.told_slow = true;
    }
    return reads || goes_on;
}

/* Only another thread of the program could still bring it. */
static void tell_missed(const struct tic_session *session)
{
    enum tic_history_role role;

    if (!tic_replay_misses(&role) || atomic_load(&session->graph.threads) != 0)
        return;
    tic_stop(TIC_EXIT_DIVERGED,
             "the replay differs from the recorded run: main() waits, and %s that had begun by "
             "then does not come",
             role == TIC_HISTORY_KERNEL   ? "a task without output"
             : role == TIC_HISTORY_RESULT ? "a task that changed its arguments"
                                          : "a callback");
}

/* main() waits inside StarPU, before the cut, for what waits for it. */
static bool look_for_progress(void *arg)
{
    struct tic_session *session = arg;
    const struct tic_cut *cut = &session->snapshot.cut;

    if (!tic_session) /* StarPU is starting: it may measure the machine first */
        return true;
    uint64_t calls = atomic_load(&session->graph.calls), executed = tic_cut_count_executed(cut);
    bool reads = look_for_reads(&session->store);
    bool same = calls == stuck.calls && executed == stuck.executed && !reads;
    bool idle = same && tic_cut_is_idle(cut) && !tic_replay_is_busy();

    stuck.calls = calls;
    stuck.executed = executed;
    if (same)
        tell_starved(tic_replay_count_kernels());
    if (idle)
        tell_missed(session);
    bool sleeps = idle && (calls & 1) == 0 && tic_thread_sleeps(stuck.owner);
    if (sleeps && stuck.slept)
        tell_waits(tic_session_may_look(session) && !session->snapshot.ranks);
    stuck.slept = sleeps;
    if (tic_position_is_ahead() && idle && (calls & 1) != 0)
        tic_stop(
            TIC_EXIT_DIVERGED,
            "the replay differs from the recorded run: main() waits for tasks where it did not "
            "wait for them, and nothing goes on. If the program waits by the clock, or by what "
            "it finds done, start it with STARPU_TIC_VERIFY=0 from the beginning");
    return tic_position_is_ahead() || !goes_on();
}

/* ---- the start ------------------------------------------------------------------------------- */

void tic_position_load(struct tic_session *session)
{
    check_kind(session);
    stuck.begun = session->recovered && session->graph.recovered.positioned &&
                  session->graph.recovered.position > 0;
    atomic_store(&session->snapshot.replaying, stuck.begun);
    atomic_store(&session->snapshot.verify.quiescent,
                 session->recovered && session->graph.recovered.quiescent);
    stuck.owner = gettid();
    double patience = session->snapshot.options.patience;
    if (stuck.begun)
        tic_watch_begin(&stuck.watch, patience > LOOK_AT_LEAST ? patience : LOOK_AT_LEAST,
                        look_for_progress, session);
}

void tic_position_close(void)
{
    if (stuck.begun)
        tic_watch_end(&stuck.watch);
    stuck.begun = false;
}

/* ---- the end of a replay --------------------------------------------------------------------- */

bool tic_session_is_replayed(struct tic_session *session)
{
    return !tic_position_is_ahead() && !tic_replay_is_on() &&
           !atomic_load(&session->snapshot.point.resumes) &&
           tic_recovery_is_complete(&session->graph) &&
           tic_spawns_is_complete(&session->graph.spawns);
}
