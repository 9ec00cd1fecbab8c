/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/thread.h"
#include "interpose/ending.h"
#include "interpose/shape.h"
#include "real/real.h"
#include "session/lookup.h"
#include "session/ranks.h"
#include "session/uses.h"
#include "snapshot/ranks.h"

static char *job_directory; /* immutable once set */

void tic_ranks_check(const struct tic_settings *settings)
{
    const char *what = settings->protocol != TIC_PROTOCOL_TIC ? "another protocol than tic"
                       : settings->copy[0]                    ? "STARPU_TIC_COPY"
                       : settings->every                      ? "STARPU_TIC_EVERY"
                                                              : NULL;

    if (what && tic_ranks_library())
        tic_stop(TIC_EXIT_REFUSED,
                 "in a run of several ranks (STARPU_TIC_RANKS) %s is not there "
                 "yet",
                 what);
}

static bool name_rank(struct tic_line *about)
{
    char *program = NULL;

    if (asprintf(&program, "%s (rank %u of %u)", about->program, tic_ranks_rank(),
                 tic_ranks_count()) < 0)
        return false;
    free(about->program);
    about->program = program;
    return true;
}

/* Twice, where lines are looked for first, and created later. */
char *tic_ranks_directory(const char *directory, struct tic_line *about)
{
    char *own = NULL;
    bool named = job_directory || name_rank(about);

    job_directory = job_directory ? job_directory : strdup(directory);
    if (!named || !job_directory || (mkdir(directory, 0700) != 0 && errno != EEXIST) ||
        asprintf(&own, "%s/p%u", directory, tic_ranks_rank()) < 0)
        return NULL;
    return own;
}

void tic_ranks_join(struct tic_session *session, bool lines)
{
    if (!tic_ranks_library())
        return;
    if (lines)
        tic_stop(TIC_EXIT_REFUSED,
                 "rank %u: %s holds recovery lines of a run of several ranks, and a restart from "
                 "these is not there yet. Remove %s to begin anew",
                 tic_ranks_rank(), session->store.path, job_directory);
    session->snapshot.verify.percent = 0; /* main() may wait for others before a cut */
    tic_snapshot_join_ranks(&session->snapshot, tic_ranks_library());
}

/* ---- for the library ------------------------------------------------------------------------- */

static void guard(int by)
{
    tic_guard += by;
}

static const char *directory(void)
{
    return tic_session_watches() ? job_directory : NULL;
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
        tic_snapshot_break(&tic_session->snapshot, "no agreement with other ranks: %s", why);
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

/* A value that a message brings is written as if at its end, at once: no line has a part of it. */
static void note_granted(void *data)
{
    struct tic_handle *handle = handle_of(data);

    if (!is_of_interest(handle))
        return;
    tic_handle_locate_homeless(handle);
    tic_snapshot_need(&tic_session->snapshot,
                      tic_snapshot_hold(&tic_session->snapshot, handle, NULL) == 0);
    tic_lock(&tic_session->submit);
    tic_data_note_write(handle, true);
    tic_unlock(&tic_session->submit);
}

static void note_received(void *data, void (*note)(void *arg), void *arg)
{
    struct tic_handle *handle = handle_of(data);

    if (!is_of_interest(handle)) {
        note(arg);
        return;
    }
    tic_handle_locate_homeless(handle);
    tic_snapshot_touch_noting(&tic_session->snapshot, handle, note, arg);
}

WRAPPER const struct tic_ranks_core *starpu_tic_ranks_attach(const struct tic_ranks *library)
{
    static struct tic_ranks_core core;

    if (!tic_ranks_take(library))
        return NULL;
    core = (struct tic_ranks_core){tic_ranks_rank(),
                                   tic_ranks_count(),
                                   tic_log,
                                   tic_thread_start,
                                   guard,
                                   directory,
                                   keep,
                                   request,
                                   wake,
                                   unprotect,
                                   give_up,
                                   note_granted,
                                   note_received};
    return &core;
}
