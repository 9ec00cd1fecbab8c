/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The opening of a session: when StarPU starts or, if there may be something to replay, with the
 * first event of main() before that. */
#include "interpose/opening.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/path.h"
#include "base/watch.h"
#include "session/about.h"
#include "session/builds.h"
#include "report/advice.h"
#include "session/context.h"
#include "interpose/create.h"
#include "interpose/position.h"
#include "interpose/ranks.h"
#include "session/ranks.h"
#include "interpose/record.h"
#include "interpose/repeat.h"
#include "report/told.h"
#include "report/unprotected.h"
#include "recovery/recovery.h"
#include "store/files.h"
#include "snapshot/extending.h"
#include "base/io.h"

/* A leaf, but for what opening a store takes: time() of main() may come while a thread starts. */
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
/* Before tic_session is set: opened early, or NULL. Guarded by preparing; immutable once set. */
static struct tic_session *prepared;
static bool used;           /* a session was tried: a process has at most one; the same */
static const char *why_not; /* the same; NULL: none was tried, or it is there */

static bool say_start_waits(void *path)
{
    tic_log(TIC_LOG_WARN, "%s does not answer. The start waits for it", (const char *)path);
    return false;
}

static void finish_following(int status, void *arg)
{
    struct tic_session *session = arg;

    if (status == 0 && !session->settings.keep && getpid() == session->process)
        tic_success_note(session);
}

/* What ran here before exec has its recovery lines there: a restart begins with it, and finds them.
 * What runs now is not protected, and at its success all is done. */
static void follow(struct tic_session *session)
{
    char *why;

    if (asprintf(&why,
                 "%s holds the recovery lines of what this process ran before exec, from which a "
                 "restart begins. Set another STARPU_TIC_DIR before exec to have this part "
                 "protected, too",
                 session->store.path) < 0)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    why_not = why;
    on_exit(finish_following, session);
}

struct opening {
    struct tic_session *session;
    const char *directory;
    const struct tic_h5_ops *h5;
    bool create;
    int status;
};

static void open_apart(void *arg)
{
    struct opening *opening = arg;
    const struct tic_settings *settings = &opening->session->settings;

    opening->status =
        tic_recovery_open(&opening->session->snapshot, opening->directory, opening->create,
                          settings->sync == TIC_SYNC_COMMIT, opening->h5);
    if (opening->status >= 0 && !settings->report[0])
        tic_advice_read(opening->directory);
}

/* False: the store is that of what this process ran before exec. */
static bool open_store(struct tic_session *session, bool create)
{
    const struct tic_settings *settings = &session->settings;
    char *name = tic_about_directory(&session->snapshot.about);
    const char *directory = settings->dir[0] || !name ? settings->dir : tic_path_absolute(name);
    free(name);
    if (!directory || !directory[0])
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start, or the working directory is gone: "
                                   "name an absolute STARPU_TIC_DIR");
    session->snapshot.recovery.of_job = tic_ranks_library() != NULL;
    if (tic_ranks_library())
        directory = tic_or_stop(tic_ranks_directory(directory, &session->snapshot));
    struct tic_watch watch;
    tic_watch_begin(&watch, session->snapshot.options.patience, say_start_waits, (void *)directory);
    session->graph.signature.ignores = settings->arguments == TIC_ARGUMENTS_IGNORE;
    struct opening opening = {session, directory, tic_session_load_module(), create, 0};
    tic_apart_call(open_apart, &opening);
    tic_watch_end(&watch);
    if (opening.status == -EALREADY) {
        follow(session);
        return false;
    }
    session->opened_store = opening.status >= 0;
    tic_unprotected_tell_children(settings->dir);
    session->recovered = opening.status > 0;
    session->recovered_tasks = session->graph.recovered.tasks;
    tic_ranks_join(session, session->recovered);
    atomic_store(&session->racy, session->snapshot.recovery.racy);
    session->snapshot.extension.run = session->snapshot.recovery.earlier.runs + 1;
    if (session->recovered && session->snapshot.recovery.racy)
        tic_extension_start(&session->snapshot);
    /* Those that nobody submits again count as submitted and skipped. */
    atomic_store(&session->spawned, session->graph.spawns.kept_done);
    atomic_store(&session->skipped, session->graph.spawns.kept_done);
    session->recovered_submissions = tic_signature_count(&session->graph.signature);
    session->asks_successors = session->recovered && tic_successors_were_asked(&session->graph);
    tic_position_load(session);
    return true;
}

static struct tic_session *prepare_first(void)
{
    struct tic_settings settings;

    if (tic_unprotected_why())
        return NULL;
    tic_session_read(&settings);
    tic_ranks_check(&settings);
    tic_repeat_set(&settings);
    if (settings.protocol == TIC_PROTOCOL_OFF)
        return NULL;
    int status = tic_apart_begin();
    if (status) {
        why_not = tic_unprotected_no_thread(status);
        return NULL;
    }
    tic_files_start();
    tic_builds_note_callers(NULL);
    struct tic_session *session = tic_session_create(&settings);
    return open_store(session, false) ? session : NULL;
}

/* Before starpu_init an event matters only if there is a store to replay it from. */
struct tic_session *tic_opening_prepare(void)
{
    pthread_mutex_lock(&preparing);
    bool there = tic_real_resolve(NULL); /* else the program opens StarPU later, or never */
    if (!used && there)
        prepared = prepare_first();
    used |= there;
    pthread_mutex_unlock(&preparing);
    return prepared;
}

bool tic_opening_is_over(void)
{
    return used && !prepared;
}

bool tic_opening_create_store(struct tic_session *session)
{
    if (session->opened_store || open_store(session, true))
        return true;
    prepared = NULL;
    return false;
}

const char *tic_opening_why_not(void)
{
    return why_not;
}

struct tic_session *tic_session_opened(void)
{
    return tic_session ? tic_session : prepared;
}

struct tic_session *tic_session_of_events(void)
{
    struct tic_session *session = tic_session ? tic_session : tic_opening_prepare();

    return tic_session && !tic_session_is_watching() ? NULL : session;
}

bool tic_session_note(enum tic_event kind, int64_t value)
{
    struct tic_session *session = tic_session_of_events();

    if (!session || tic_graph_next_event(&session->graph))
        return false;
    uint64_t known = tic_tail_total(&session->graph.events); /* the owner thread adds to it */
    if (tic_graph_note_event(&session->graph, kind, value) == 0)
        tic_record_event(known, kind, value);
    else
        tic_snapshot_break(&session->snapshot, "out of memory");
    return true;
}

/* ---- a run that succeeded -------------------------------------------------------------------- */

/* The success of the program: its recovery lines go. */

static struct tic_session *succeeded; /* its recovery lines are to go */

void tic_success_note(struct tic_session *session)
{
    succeeded = session;
}

static void remove_all(void *store)
{
    tic_store_remove(store);
    if (tic_ranks_library())
        tic_ranks_library()->remove();
}

/* Last of all, after exit handlers that the program registered before it started StarPU: what kills
 * it in one of them finds the lines. What it printed goes out first, if that is easy. */
__attribute__((destructor)) static void remove_lines(void)
{
    if (!succeeded || getpid() != succeeded->process)
        return;
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    tic_io_start(succeeded->snapshot.options.patience); /* else it may hang */
    if (tic_snapshot_is_abandoned(&succeeded->snapshot) ||
        tic_io_call(remove_all, &succeeded->store) != 0)
        tic_log(TIC_LOG_WARN,
                "%s does not answer: recovery lines may be left there, which a new start would "
                "continue. Remove them",
                succeeded->store.path);
    tic_io_stop();
}
