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
#include "base/watch.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/declared.h"
#include "interpose/hold.h"
#include "interpose/looks.h"
#include "interpose/restore.h"
#include "interpose/runner.h"
#include "session/task.h"
#include "replay/replay.h"
#include "real/real.h"

/* Guarded by the submission lock: what live tasks wait for; NULL: nothing waits yet. */
static struct starpu_task *gate;
static uint64_t again; /* guarded by the submission lock: tasks that are executed again by then */
static _Atomic uint64_t ended_again; /* of these */
static _Atomic unsigned long shown;  /* callbacks that are to look at what they looked at then */

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

/* It may be waiting for another thread of the program, too. */
static void tell_waits_outside(void)
{
    if (!stuck.told)
        tic_log(TIC_LOG_WARN, "the replay stands still: main() waits outside of StarPU, for a lock "
                              "or the like; starpu-tic explain still");
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

bool tic_position_is_reading(const struct tic_reading *reading)
{
    return atomic_load(&reading->ended) != atomic_load(&reading->begun);
}

/* main() and tasks wait for values. A store that answers slowly, or a value of many gigabytes,
 * takes as long as it takes. */
static bool look_for_reads(const struct tic_store *store)
{
    unsigned long ended = atomic_load(&store->reading.ended);
    bool goes_on = ended != stuck.reads, reads = tic_position_is_reading(&store->reading);

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
             role == TIC_HISTORY_KERNEL ? "a task without output" : "a callback");
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
    bool idle = same && tic_cut_is_idle(cut) && !tic_runner_is_busy() && !tic_replay_is_busy();

    stuck.calls = calls;
    stuck.executed = executed;
    if (same)
        tell_starved(tic_replay_count_kernels());
    if (idle)
        tell_missed(session);
    if (idle && (calls & 1) == 0 && tic_runner_waits(stuck.owner))
        tell_waits_outside();
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
    atomic_store(&session->snapshot.replaying, session->recovered &&
                                                   session->graph.recovered.positioned &&
                                                   session->graph.recovered.position > 0);
    atomic_store(&session->snapshot.verify.quiescent,
                 session->recovered && session->graph.recovered.quiescent);
    stuck.begun = atomic_load(&session->snapshot.replaying);
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

/* ---- tasks before the cut -------------------------------------------------------------------- */

static void make_gate_locked(void)
{
    gate = tic_task_create();
    if (!gate)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
}

/* StarPU would ask a structure that stays for the gate each time that it is submitted. */
bool tic_position_is_to_gate(const struct starpu_task *task, uint64_t key)
{
    return tic_position_is_ahead() && task->destroy && !tic_graph_has_run(&tic_session->graph, key);
}

void tic_position_gate(struct starpu_task *task, uint64_t key)
{
    bool has_run = tic_graph_has_run(&tic_session->graph, key);

    again += has_run;
    if (!has_run && !task->destroy && !tic_hold_expect(task))
        tic_data_restore_early_locked(task);
    if (has_run || !task->destroy || !tic_position_is_ahead())
        return;
    if (!gate)
        make_gate_locked();
    tic_real.starpu_task_declare_deps_array(task, 1, &gate);
}

bool tic_position_is_again(uint64_t key)
{
    return __builtin_expect(tic_position_is_ahead(), 0) &&
           tic_graph_has_run(&tic_session->graph, key);
}

void tic_position_note_again(void)
{
    atomic_fetch_add(&ended_again, 1);
}

/* What it wrote is in the memory of a quiescent line, and must not be written once more; or it is
 * to see what tasks after it change. */
static bool must_return(uint64_t key)
{
    return (tic_session->graph.recovered.quiescent || tic_declared_has(key)) &&
           tic_graph_has_begun(&tic_session->graph, key);
}

bool tic_position_expect_any(void)
{
    bool expected = tic_position_is_ahead();

    if (expected)
        atomic_fetch_add(&shown, 1);
    return expected;
}

bool tic_position_expect(uint64_t key)
{
    return (tic_looks_has_callback(key) || must_return(key)) && tic_position_expect_any();
}

void tic_position_note_shown(void)
{
    atomic_fetch_sub(&shown, 1);
}

bool tic_position_awaits_tasks(void)
{
    return atomic_load(&ended_again) < again || atomic_load(&shown) > 0;
}

struct starpu_task *tic_position_take_gate_locked(void)
{
    struct starpu_task *taken = gate;

    gate = NULL;
    return taken;
}
