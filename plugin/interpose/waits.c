/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/waits.h"

#include "base/error.h"
#include "base/failpoint.h"
#include "interpose/arrive.h"
#include "session/context.h"
#include "interpose/ending.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/redo.h"
#include "interpose/position.h"
#include "interpose/restore_all.h"
#include "snapshot/forced.h"

/* ---- the clock of main() -------------------------------------------------------------------- */

void tic_main_comes(bool waits)
{
    if (!tic_session_is_watching() || !tic_session_is_owner())
        return;
    tic_clock_tick();
    tic_redo_begin(waits ? TIC_REPLAY_WAITS : TIC_REPLAY_ASKS);
}

void tic_main_returns(void)
{
    struct tic_graph *graph = &tic_session->graph;
    const uint64_t position = atomic_load(&graph->position);

    if (tic_session_is_watching()) {
        tic_replay_grant(position);
        atomic_store(&graph->returns, true);
        tic_snapshot_note_main(&tic_session->snapshot, TIC_HISTORY_RETURN, 0);
    }
    bool waited = tic_looks_leave();
    tic_looks_end_leaving();
    atomic_store(&graph->returns, false);
    tic_replay_return(position);
    if (waited) {
        tic_failpoint(TIC_FAIL_WAIT_END);
        tic_verify_leave(&tic_session->snapshot);
    }
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* What waits for a value until then may be overwritten by a result, and its row used again. main()
 * has promised to read nothing without an access. */
static bool expects_results(const struct tic_session *session)
{
    return session->snapshot.options.log_all &&
           session->graph.signature.position < tic_snapshot_forced_end(&session->snapshot);
}

void tic_wait_restore_all(void)
{
    struct tic_session *session = tic_session;

    if (tic_session_may_look(session) || !session->recovered || session->restored_all ||
        !tic_session_is_replayed(session) || expects_results(session))
        return;
    session->restored_all = true;
    tic_data_restore_all();
}

/* StarPU-MPI waits for tasks in its own waits, as often as it takes. None of these is a step of
 * main(). */
static bool is_inside(void)
{
    return tic_session && tic_session->waits_by_ranks && tic_session_is_owner();
}

void tic_wait_begin_at(bool operates, const void *frame)
{
    if (is_inside())
        return;
    TIC_LINT(call);
    if (operates) {
        tic_main_comes(true);
    } else if (tic_session_is_watching() && tic_session_is_owner()) {
        tic_clock_wait();
        tic_redo_begin(TIC_REPLAY_WAITS);
    } else if (tic_replay_is_on() && tic_session_context() == TIC_CONTEXT_THREAD) {
        tic_replay_await_own();
    }
    if (tic_session_is_watching() && tic_session_is_owner()) {
        if (tic_session_may_look(tic_session))
            tic_data_restore_adopted();
        TIC_LINT(wait_begins, NULL, frame);
        tic_looks_enter();
        if (tic_session_context() == TIC_CONTEXT_MAIN)
            tic_extension_enter(&tic_session->snapshot.extension, &tic_session->graph);
    }
}

void tic_looks_refuse_thread(const char *call)
{
    static const char why[] =
        "another thread than main()'s waits for tasks, and what it then reads or writes by its "
        "pointers is not known again in a restart; STARPU_TIC_VERIFY=0 is the promise that nobody "
        "does so without an access";

    if (!tic_session_is_watching() || tic_guard > 0 || !tic_session_may_look(tic_session) ||
        tic_session_context() != TIC_CONTEXT_THREAD || !atomic_load(&tic_session->has_memory))
        return;
    if (tic_position_is_ahead())
        tic_stop(TIC_EXIT_DIVERGED, "%s: %s. The recovery lines in %s are untouched", call, why,
                 tic_session->store.path);
    tic_session_unprotect(call, why);
}

void tic_wait_begin_around(const void *frame)
{
    tic_wait_begin_at(true, frame);
    if (tic_session_is_watching() && tic_session_is_owner())
        tic_session->waits_by_ranks = true;
}

void tic_wait_end_around(const char *call)
{
    if (is_inside())
        tic_session->waits_by_ranks = false;
    tic_wait_end(call);
}

void tic_wait_end(const char *call)
{
    if (is_inside())
        return;
    if (tic_session && tic_guard == 0) {
        TIC_LINT(wait_ends, false);
        if (tic_session_is_owner() && tic_session_context() == TIC_CONTEXT_MAIN) {
            tic_extension_leave(&tic_session->snapshot.extension);
            tic_main_returns();
        }
    }
    tic_looks_refuse_thread(call);
    TIC_LINT(goes_on, call, true);
}

void tic_wait_has_been(const char *call)
{
    if (!tic_session_is_watching())
        return;
    tic_wait_begin(false);
    tic_wait_end(call);
}

bool tic_wait_settle_all(int result)
{
    return result == 0 && tic_session && tic_session->recovered && tic_guard == 0 &&
           tic_session_is_owner() && tic_replay_settle(atomic_load(&tic_session->graph.position));
}
