/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commit points, on the side of main(). Owner thread only. */
#include "interpose/exclude.h"
#include "interpose/point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "interpose/answers.h"
#include "interpose/point_resume.h"
#include "interpose/redux.h"
#include "interpose/position.h"
#include "interpose/variables.h"
#include "session/context.h"
#include "snapshot/forced.h"

static struct {
    uint64_t number; /* commit points that main() has come to */
    char *place;     /* of the first */
    char told[256];  /* why one could not be used */
    unsigned tellings;
} own;

/* ---- can it be used? ------------------------------------------------------------------------- */

/* What StarPU knows that is not in data, and a restart would not tell it. */
static const char *why_not_starpu(struct tic_session *session)
{
    tic_lock(&session->submit);
    bool dependencies = session->explicit_dependencies;
    tic_unlock(&session->submit);
    if (dependencies)
        return "tasks have tags or declared dependencies, which tasks after a restart could wait "
               "for in vain";
    if (atomic_load(&session->graph.threads) != 0)
        return "other threads than main() submit tasks";
    if (atomic_load(&session->holds) > 0 || session->waits_by_callback)
        return "main() has acquired data that it has not released, or does so with a callback";
    if (tic_exclude_is_in_force())
        return "data is registered that no recovery line holds (starpu_tic_data_exclude)";
    if (atomic_load(&tic_redux_open_count) > 0)
        return "contributions to a reduction are not added up yet: an access to the data before "
               "the commit point does that";
    return NULL;
}

/* NULL: it can. */
static const char *why_not(struct tic_session *session, const char *place, char *text, size_t size)
{
    const struct tic_point_first *first = &session->snapshot.point.first;
    const char *why = why_not_starpu(session);

    if (why)
        return why;
    const char *gone = tic_variables_find_gone(),
               *address = gone ? NULL : tic_variables_find_address();
    if (gone)
        snprintf(text, size,
                 "the memory of variable \"%s\" is not there any more, or may not be written",
                 gone);
    else if (address)
        snprintf(text, size, "variable \"%s\" holds an address, which is another one in a restart",
                 address);
    else if (strcmp(place, own.place) != 0)
        snprintf(text, size, "it is not the place of the first commit point, %s", own.place);
    else if (session->starts != first->starts)
        snprintf(text, size, "StarPU was started anew since the first commit point");
    else
        return tic_point_compare(first, &session->graph, text, size);
    return text;
}

static void tell(const char *place, const char *why)
{
    enum { MOST = 4 };

    if (own.tellings >= MOST || strncmp(own.told, why, sizeof(own.told) - 1) == 0)
        return;
    own.tellings++;
    snprintf(own.told, sizeof(own.told), "%s", why);
    tic_log(TIC_LOG_WARN, "no recovery line is taken at commit point %llu (%s): %s",
            (unsigned long long)own.number, place, why);
}

/* ---- a line is due --------------------------------------------------------------------------- */

static void leave_state(struct tic_snapshot *snapshot, enum tic_point_state to)
{
    tic_lock(&snapshot->lock);
    atomic_store_explicit(&snapshot->point.state, (int)to, memory_order_relaxed);
    pthread_cond_signal(&snapshot->wake);
    tic_unlock(&snapshot->lock);
}

/* Until the checkpoint thread has what it needs; not for one that does not answer. */
static void await_cut(struct tic_snapshot *snapshot)
{
    uint64_t before, now = tic_snapshot_progress(snapshot);

    tic_lock(&snapshot->lock);
    do {
        struct timespec until = tic_after(snapshot->options.patience);
        while (tic_point_is_offered(&snapshot->point) && !snapshot->control.exited &&
               tic_snapshot_await_locked(snapshot, &until))
            ;
        before = now;
        now = tic_snapshot_progress(snapshot);
    } while (tic_point_is_offered(&snapshot->point) && !snapshot->control.exited && now != before);
    /* The checkpoint thread sees that main() has gone on. */
    atomic_store_explicit(&snapshot->point.state, TIC_POINT_IDLE, memory_order_relaxed);
    tic_unlock(&snapshot->lock);
}

/* 0, or -ENOMEM. */
static int hand_over(struct tic_session *session, const char *place)
{
    struct tic_point *point = &session->snapshot.point;

    tic_point_drop(point);
    point->now.number = own.number;
    tic_point_describe(&point->first, &session->graph, &point->now);
    int status = tic_variables_list(place, &point->now.names);
    return status ? status : tic_variables_copy(&point->now.bytes);
}

static bool is_at_rest(struct tic_session *session)
{
    return tic_cut_is_idle(&session->snapshot.cut) &&
           atomic_load(&session->graph.callbacks_open) == 0;
}

/* Counted lines are taken at the first commit point after their task. */
static bool is_counted_due(struct tic_snapshot *snapshot)
{
    return snapshot->options.every > 0 &&
           atomic_load_explicit(&snapshot->point.usable, memory_order_relaxed) &&
           tic_snapshot_count(snapshot) > snapshot->point.counted;
}

/* A line is due, and the checkpoint thread waits for main(). */
static bool begin(struct tic_snapshot *snapshot)
{
    struct timespec until = tic_after(snapshot->options.patience);
    const struct tic_control *control = &snapshot->control;

    tic_lock(&snapshot->lock);
    /* An ordinary line may wait for main() to go on. */
    while (!tic_point_has_history(&snapshot->point) && is_counted_due(snapshot) &&
           control->tries_begun != control->tries_ended && !control->exited &&
           control->retry_ns == 0 && tic_snapshot_await_locked(snapshot, &until))
        ;
    bool counted = is_counted_due(snapshot) && control->retry_ns == 0 && !control->exited &&
                   tic_snapshot_count(snapshot) > control->counted;
    bool begins = control->tries_begun == control->tries_ended &&
                  (counted || tic_point_state(&snapshot->point) == TIC_POINT_WANTED);
    if (begins && tic_point_state(&snapshot->point) == TIC_POINT_IDLE)
        snapshot->point.wanted_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    if (begins)
        atomic_store_explicit(&snapshot->point.state, TIC_POINT_COMING, memory_order_relaxed);
    if (begins)
        snapshot->point.counted = tic_snapshot_count(snapshot);
    tic_unlock(&snapshot->lock);
    return begins;
}

static void stay(struct tic_session *session, const char *place)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    char text[256];

    if (!tic_session_is_replayed(session) || !begin(snapshot))
        return;
    if (snapshot->verify.percent > 0)
        tic_verify_enter(snapshot);
    tic_point_await_tasks(); /* data that tasks were the last to use is gone, too */
    const char *why = why_not(session, place, text, sizeof(text));
    if (why)
        tell(place, why);
    bool offers = !why && is_at_rest(session) && hand_over(session, place) == 0;
    leave_state(snapshot, offers ? TIC_POINT_OFFERED : TIC_POINT_WANTED);
    if (offers) {
        tic_failpoint(TIC_FAIL_POINT_OFFERED);
        await_cut(snapshot);
        tic_failpoint(TIC_FAIL_POINT_END);
    }
    if (snapshot->verify.percent > 0)
        tic_verify_leave(snapshot);
}

/* ---- main() ---------------------------------------------------------------------------------- */

/* Lines of commit points can be taken from now on. */
static void note_first(struct tic_session *session, const char *place)
{
    struct tic_point *point = &session->snapshot.point;
    const char *why = why_not_starpu(session);

    tic_variables_close();
    tic_answers_break();
    own.place = strdup(place);
    point->first.starts = session->starts;
    if (!why && !atomic_load(&session->snapshot.point.resumes) &&
        !tic_session_is_replayed(session) && tic_point_has_plans(&session->graph))
        why = "partitions are planned, and main() came here first in a restart from an ordinary "
              "line";
    if (!own.place || tic_point_note_first(&point->first, &session->graph) != 0)
        why = "out of memory";
    if (why) {
        tell(place, why);
        return;
    }
    if (session->snapshot.options.log_all)
        tic_snapshot_need_lines(&session->snapshot, "starpu_tic_commit_point",
                                "a restart goes on from recovery lines of commit points only");
    atomic_store_explicit(&point->usable, true, memory_order_relaxed);
}

int tic_point_come(const char *place)
{
    struct tic_session *session = tic_session;

    own.number++;
    if (own.number == 1) {
        note_first(session, place);
        if (!atomic_load(&session->snapshot.point.resumes))
            return 0;
        own.number = tic_point_resume(session, place);
        return 1;
    }
    if (tic_point_state(&session->snapshot.point) == TIC_POINT_WANTED ||
        is_counted_due(&session->snapshot))
        stay(session, place);
    return 0;
}
