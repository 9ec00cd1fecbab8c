/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart goes on from a line of a commit point: at the first one main() gets data, variables and
 * numbers of that line, if it has come there as in the recorded run. */
#include "interpose/point_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "interpose/digest.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/variables.h"
#include "real/real.h"
#include "session/context.h"

void tic_point_await_tasks(void)
{
    tic_guard++;
    tic_real.starpu_task_wait_for_all();
    tic_guard--;
}

/* ---- is it the same? ------------------------------------------------------------------------- */

_Noreturn static void stop(const struct tic_session *session, const char *what, const char *was,
                           const char *is)
{
    tic_stop(TIC_EXIT_DIVERGED,
             "the replay differs from the recorded run at the first commit point "
             "(starpu_tic_commit_point): %s, then \"%s\" and now \"%s\". Nothing was overwritten: "
             "the recovery lines in %s are untouched",
             what, was, is, session->store.path);
}

static void compare_numbers(const struct tic_session *session, const char *what, uint64_t was,
                            uint64_t is)
{
    char texts[2][32];

    snprintf(texts[0], sizeof(texts[0]), "%llu", (unsigned long long)was);
    snprintf(texts[1], sizeof(texts[1]), "%llu", (unsigned long long)is);
    if (was != is)
        stop(session, what, texts[0], texts[1]);
}

/* The place, then bytes and names of variables. */
static void compare_names(const struct tic_session *session, const char *place)
{
    const struct tic_line_text *was = &session->graph.recovered.point.names;
    struct tic_line_text is = {0};
    size_t i = 0, j = 0;

    if (tic_variables_list(place, &is) != 0)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at a commit point");
    if (!session->snapshot.options.any_program && strcmp(was->text, place) != 0)
        stop(session, "its place in the program", was->text, place);
    do {
        i += strlen(was->text + i) + 1;
        j += strlen(is.text + j) + 1;
        const char *then = i < was->size ? was->text + i : "(none)";
        const char *now = j < is.size ? is.text + j : "(none)";
        if (strcmp(then, now) != 0)
            stop(session, "bytes and name of a variable (starpu_tic_protect_memory)", then, now);
    } while (i < was->size && j < is.size);
    free(is.text);
}

/* Answers may be left over that main() did not ask for this time. */
static void check_events(struct tic_session *session)
{
    struct tic_graph *graph = &session->graph;
    const struct tic_line_event *event;

    for (; (event = tic_graph_next_event(graph)); graph->next_event++)
        if (event->kind < TIC_EVENT_WORKERS)
            stop(session, "calls of time() and the like before it", "more", "fewer");
}

static void check(struct tic_session *session, const char *place)
{
    const struct tic_line_point *was = &session->graph.recovered.point;
    const struct tic_point *point = &session->snapshot.point;
    const struct tic_point_first *is = &point->first;

    compare_names(session, place);
    compare_numbers(session, "tasks that main() has submitted", was->task, is->task);
    compare_numbers(session, "data that was registered so far", was->handle, is->handle);
    compare_numbers(session, "a hash of the submissions", was->signature, is->signature);
    compare_numbers(session, "a hash of the data that is registered", was->registered,
                    is->registered);
    check_events(session);
    const char *gone = tic_variables_find_gone();
    if (gone)
        stop(session, "a variable (starpu_tic_protect_memory)", gone, "(no memory to write)");
    if (!atomic_load(&point->usable))
        stop(session, "whether it can be used", "yes", "no");
}

/* ---- going on -------------------------------------------------------------------------------- */

/* Now, as nobody uses it: what lies in memory of main(), then the rest. */
static void restore_all_locked(struct tic_graph *graph)
{
    unsigned long count = 1;

    tic_data_restore_image(NULL);
    for (unsigned long i = 0; i < count; i++) {
        tic_lock(&graph->lock);
        count = graph->handle_count;
        struct tic_handle *handle = i < count ? graph->handles[i] : NULL;
        tic_unlock(&graph->lock);
        if (handle && handle->data && handle->listing.gone_since == 0)
            tic_data_restore_now_locked(handle, true);
    }
}

uint64_t tic_point_resume(struct tic_session *session, const char *place)
{
    const struct tic_line_point was = session->graph.recovered.point;

    check(session, place);
    tic_point_await_tasks();
    tic_variables_give_back(&was.bytes);
    tic_lock(&session->submit);
    tic_point_take_over(&session->graph);
    restore_all_locked(&session->graph);
    tic_unlock(&session->submit);
    atomic_store(&session->skipped, session->recovered_tasks);
    atomic_store(&session->snapshot.point.forgotten, true);
    atomic_store(&session->snapshot.point.resumes, false);
    tic_log(TIC_LOG_INFO, "main() goes on from commit point %llu (%s)",
            (unsigned long long)was.number, place);
    tic_digest_note_resumed();
    tic_failpoint(TIC_FAIL_POINT_RESUMED);
    return was.number;
}
