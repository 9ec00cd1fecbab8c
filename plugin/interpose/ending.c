/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/ending.h"

#include <stdio.h>

#include "base/error.h"
#include "replay/replay.h"
#include "session/context.h"
#include "interpose/restore_all.h"
#include "session/kernels.h"
#include "interpose/callback_redo.h"
#include "session/task.h"

static const struct tic_ending *ending; /* immutable once calls matter */

void tic_session_end_by(const struct tic_ending *steps)
{
    ending = steps;
}

void tic_session_unprotect(const char *what, const char *why)
{
    struct tic_session *session = tic_session;
    enum tic_context context = tic_session_context();
    bool apart = session->recovered && atomic_load(&session->watching) &&
                 context != TIC_CONTEXT_MAIN && context != TIC_CONTEXT_STARPU;

    if (apart && (context == TIC_CONTEXT_THREAD || !tic_replay_repeats()))
        tic_snapshot_break(&session->snapshot, "%s: %s", what, why);
    else
        tic_session_unprotect_now(what, why);
}

void tic_session_unprotect_now(const char *what, const char *why)
{
    struct tic_session *session = tic_session;

    if (!atomic_load(&session->watching) || tic_session_context() == TIC_CONTEXT_STARPU)
        return;
    if (session->report) {
        TIC_LINT(problem, what, why);
        ending->fold_all(); /* others than the owner thread may use the data next */
        return;
    }
    if (session->recovered && !ending->is_replayed(session))
        tic_stop(TIC_EXIT_DIVERGED,
                 "%s: %s, but the recorded run came further. The recovery lines in %s are "
                 "untouched",
                 what, why, session->store.path);
    tic_snapshot_break(&session->snapshot, "%s: %s", what, why);
    if (session->recovered)
        tic_data_restore_all();
    atomic_store(&session->watching, false);
    ending->fold_all();
}

void tic_session_stop_watching(const char *what, const char *why)
{
    tic_session_unprotect(what, why);
    if (tic_session->report)
        atomic_store(&tic_session->watching, false);
}

/* ---- places in the program ------------------------------------------------------------------- */

/* Places in the program, for messages. */

const char *tic_session_place(const char *call)
{
    static __thread char place[256];
    struct starpu_task *task = tic_callback_current_task();

    if (!task)
        task = tic_kernels_current_task();
    if (!task || !task->cl)
        return call;
    snprintf(place, sizeof(place), "%s in %stask \"%s\"", call,
             tic_in_callback > 0 ? "the callback of " : "", tic_task_name(task));
    return place;
}
