/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session: one protected StarPU instance, from starpu_init to the end of the process. */
#include "interpose/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "base/memory.h"
#include "base/watch.h"
#include "interpose/advice.h"
#include "interpose/answers.h"
#include "interpose/digest.h"
#include "interpose/leave.h"
#include "interpose/pages.h"
#include "interpose/report.h"
#include "interpose/tasks.h"
#include "sched/tic_ws.h"
#include "snapshot/copier.h"
#include "store/h5load.h"
#include "store/held.h"

struct tic_session *tic_session;

/* Held while a thread starts StarPU or shuts it down: other threads may do so at the same time. */
static pthread_mutex_t life = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unsigned long starts; /* guarded by life: of StarPU, without those that were undone */

/* A leaf, but for what opening a store takes: time() of main() may come while a thread starts. */
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
/* Before tic_session is set: opened early, or NULL. Guarded by preparing; immutable once set. */
static struct tic_session *prepared;
static bool used; /* a session was tried: a process has at most one; the same */

__thread bool tic_is_owner __attribute__((tls_model("initial-exec")));
__thread int tic_guard __attribute__((tls_model("initial-exec")));
__thread int tic_in_callback __attribute__((tls_model("initial-exec")));

enum tic_context tic_session_context(void)
{
    if (tic_in_callback > 0)
        return TIC_CONTEXT_CALLBACK;
    if (tic_real.starpu_task_get_current())
        return TIC_CONTEXT_TASK;
    if (tic_is_owner)
        return TIC_CONTEXT_MAIN;
    return tic_real.starpu_worker_get_id() >= 0 ? TIC_CONTEXT_STARPU : TIC_CONTEXT_THREAD;
}

bool tic_session_is_replayed(struct tic_session *session)
{
    if (tic_is_owner && tic_clock_lags && tic_in_callback == 0)
        tic_clock_catch_up();
    return !tic_position_is_ahead() && !tic_clock_holds() && !tic_early_holds() &&
           tic_recovery_is_complete(&session->graph) &&
           tic_spawns_is_complete(&session->graph.spawns);
}

/* ---- opening -------------------------------------------------------------------------------- */

static const char *environment_get(const char *name)
{
    return secure_getenv(name);
}

static void read_settings(struct tic_settings *settings)
{
    char message[512];

    if (tic_settings_read(settings, environment_get, environ, message, sizeof(message)) != 0)
        tic_stop(TIC_EXIT_REFUSED, "%s", message);
    if (tic_failpoint_arm(settings->fail) != 0)
        tic_stop(TIC_EXIT_REFUSED,
                 "STARPU_TIC_FAIL=%s is not valid: it takes name[:n], and `starpu-tic failpoints` "
                 "lists the names",
                 settings->fail);
    tic_log_set_level(settings->verbose);
}

/* Processes that this one starts inherit the variable, and STARPU_TIC_DIR: "PROCESS DIRECTORY". */
static const char owner_variable[] = "TIC_DIRECTORY_OWNER";

static bool is_used_by_parent(void)
{
    const char *owner = getenv(owner_variable), *directory = getenv(TIC_SETTING_PREFIX "DIR");
    char *rest = NULL;
    pid_t process = owner ? (pid_t)strtol(owner, &rest, 10) : 0;

    return directory && process > 0 && process != getpid() && *rest == ' ' &&
           strcmp(rest + 1, directory) == 0 && (kill(process, 0) == 0 || errno == EPERM);
}

/* Where it was loaded, and with which directory. Each fork of a process would take the recovery
 * lines of another one for its own. */
static struct {
    pid_t process;
    char *directory;
} loaded;

__attribute__((constructor)) static void note_load(void)
{
    const char *directory = getenv(TIC_SETTING_PREFIX "DIR");

    loaded.process = getpid();
    loaded.directory = directory ? strdup(directory) : NULL;
}

static bool is_forked(void)
{
    const char *directory = getenv(TIC_SETTING_PREFIX "DIR");

    return getpid() != loaded.process &&
           (!directory || (loaded.directory && strcmp(directory, loaded.directory) == 0));
}

/* Why this process cannot be protected at all, or NULL. */
static const char *why_not_at_all(void)
{
    static const char *const rank_counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                              "MV2_COMM_WORLD_SIZE"};
    const char *missing;
    int major, minor, release;

    if (getauxval(AT_SECURE))
        return "it has more rights than who started it (set-user-ID and the like)";
    if (!tic_real_resolve(&missing))
        return missing;
    tic_real.starpu_get_version(&major, &minor, &release);
    if (major != STARPU_MAJOR_VERSION || minor != STARPU_MINOR_VERSION)
        return "this starpu-tic was built for StarPU " PACKAGE_STARPU_VERSION;
    for (size_t i = 0; i < sizeof(rank_counts) / sizeof(rank_counts[0]); i++) {
        const char *count = getenv(rank_counts[i]);
        if (count && atoi(count) > 1)
            return "runs of several MPI processes are not protected yet";
    }
    if (is_forked())
        return "it is a fork of the program that was started, and has no recovery lines of its "
               "own. Start it as a program (exec), or give it a STARPU_TIC_DIR of its own";
    if (is_used_by_parent())
        return "the program that started it uses STARPU_TIC_DIR; name another one for this "
               "program, or none";
    return NULL;
}

static void check_stats(const char *path)
{
    FILE *stats = path[0] ? fopen(path, "ae") : NULL;

    if (path[0] && !stats)
        tic_stop(TIC_EXIT_REFUSED, "STARPU_TIC_STATS=%s cannot be written: %s", path,
                 strerror(errno));
    if (stats)
        fclose(stats);
}

/* Of the time that threads may spend on handing over what they write. A task writes several times
 * under SEL. */
static unsigned choose_share(const struct tic_settings *settings)
{
    enum { SHARE = 1 };

    if (settings->patience != TIC_PATIENCE_DEFAULT)
        return settings->patience > 0 ? 100 : 0;
    return settings->protocol == TIC_PROTOCOL_TIC ? 100 : SHARE;
}

/* Values wait there that main() gets back: a program has a few large ones. */
static uint64_t choose_memory(void)
{
    uint64_t part = tic_memory_total() / 8;

    return part > TIC_HELD_MOST ? part : TIC_HELD_MOST;
}

/* Allocates a session and reads its settings; NULL when the protocol is off. */
static struct tic_session *session_create(void)
{
    struct tic_settings settings;

    read_settings(&settings);
    if (settings.protocol == TIC_PROTOCOL_OFF)
        return NULL;
    struct tic_session *session = calloc(1, sizeof(*session));
    if (!session || tic_graph_init(&session->graph) != 0 ||
        tic_snapshot_init(&session->snapshot, &session->graph, &session->store, TIC_MAX_WORKERS) !=
            0)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    tic_lock_init(&session->submit, TIC_RANK_SUBMIT);
    check_stats(settings.stats);
    session->settings = settings;
    session->snapshot.period = settings.period;
    session->snapshot.every = settings.every;
    if (settings.patience > 0)
        session->snapshot.patience = settings.patience;
    session->snapshot.hand_percent = choose_share(&settings);
    session->snapshot.forced_percent = settings.forced;
    /* Results beyond the line were not compared with memory. */
    session->snapshot.ignore_results = !settings.results || settings.verify > 0;
    session->snapshot.verify.percent = settings.report[0] ? 0 : (unsigned)settings.verify;
    session->snapshot.log_bound = settings.log;
    session->snapshot.log_all = settings.protocol != TIC_PROTOCOL_TIC && !settings.report[0];
    /* Copies are of lines: a log that is not copied would leave nothing but the first one. */
    session->snapshot.periodic = settings.protocol != TIC_PROTOCOL_SEL || settings.copy[0] ||
                                 session->snapshot.ignore_results;
    session->snapshot.sync_ns =
        session->snapshot.log_all ? (uint64_t)settings.log_sync * 1000000 : 0;
    session->snapshot.keep_lines = (unsigned)settings.keep_lines;
    session->snapshot.space = settings.space;
    session->snapshot.memory = settings.memory > 0 ? settings.memory : choose_memory();
    session->snapshot.image_least = settings.image;
    /* Under sel tasks save their results themselves, and wait for that: nothing is left to
     * compress. */
    session->snapshot.compress = settings.protocol == TIC_PROTOCOL_TIC ? settings.compress : 0;
    if (settings.compress > session->snapshot.compress)
        tic_log(TIC_LOG_INFO,
                "STARPU_TIC_COMPRESS has no effect under %s: results are saved as they "
                "are when tasks end",
                tic_protocol_names[settings.protocol]);
    if (session->snapshot.log_all && settings.verify > 0)
        tic_log(TIC_LOG_INFO,
                "under %s a restart uses no results that are younger than the last recovery line, "
                "as memory was not compared since: tic saves as much, and costs less. "
                "STARPU_TIC_VERIFY=0 uses all, and is the promise that main() and tasks touch "
                "registered data only as they declare it",
                tic_protocol_names[settings.protocol]);
    session->snapshot.copy = settings.copy[0] && !settings.report[0] ? settings.copy : NULL;
    session->snapshot.any_program = settings.program == TIC_PROGRAM_ANY;
    session->process = getpid();
    tic_answers_start();
    if (settings.report[0]) {
        session->snapshot.dry = true;
        session->report = tic_report_create(&session->graph, settings.events);
        tic_pages_enable(session->report && settings.pages);
    }
    tic_about_fill(&session->snapshot.about);
    return session;
}

static bool say_start_waits(void *path)
{
    tic_log(TIC_LOG_WARN, "%s does not answer. The start waits for it", (const char *)path);
    return false;
}

static const struct tic_h5_ops *load_module(void)
{
    Dl_info self = {0};
    const char *reason = "no path of libstarputic.so";
    const struct tic_h5_ops *ops = NULL;

    if (dladdr((void *)load_module, &self) && self.dli_fname)
        ops = tic_h5_load(self.dli_fname, &reason);
    if (!ops)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot load the store module: %s. Is starpu-tic installed completely?", reason);
    return ops;
}

static void tell_children(const char *directory)
{
    char *owner = NULL;

    if (directory[0] && asprintf(&owner, "%ld %s", (long)getpid(), directory) > 0)
        setenv(owner_variable, owner, 1);
    free(owner);
}

static void open_store(struct tic_session *session, bool create)
{
    const struct tic_settings *settings = &session->settings;
    char *directory =
        settings->dir[0] ? strdup(settings->dir) : tic_about_directory(&session->snapshot.about);
    if (!directory)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    struct tic_watch watch;
    tic_watch_begin(&watch, session->snapshot.patience, say_start_waits, directory);
    int status = tic_recovery_open(&session->snapshot, directory, create,
                                   settings->sync == TIC_SYNC_COMMIT, load_module());
    if (status >= 0 && !settings->report[0])
        tic_advice_read(directory);
    tic_watch_end(&watch);
    free(directory);
    session->opened_store = status >= 0;
    tell_children(settings->dir);
    session->recovered = status > 0;
    session->recovered_tasks = session->graph.recovered_tasks;
    atomic_store(&session->racy, session->snapshot.found_racy);
    /* Those that nobody submits again count as submitted and skipped. */
    atomic_store(&session->spawned, session->graph.spawns.kept_done);
    atomic_store(&session->skipped, session->graph.spawns.kept_done);
    session->recovered_submissions = tic_signature_count(&session->graph.signature);
    session->asks_successors = session->recovered && tic_successors_were_asked(&session->graph);
    tic_position_load(session);
}

static struct tic_session *prepare_first(void)
{
    if (why_not_at_all())
        return NULL;
    struct tic_session *session = session_create();
    if (session)
        open_store(session, false);
    return session;
}

/* Before starpu_init an event matters only if there is a store to replay it from. */
static struct tic_session *prepare(void)
{
    pthread_mutex_lock(&preparing);
    bool there = tic_real_resolve(NULL); /* else the program opens StarPU later, or never */
    if (!used && there)
        prepared = prepare_first();
    used |= there;
    pthread_mutex_unlock(&preparing);
    return prepared;
}

struct tic_session *tic_session_of_events(void)
{
    struct tic_session *session = tic_session ? tic_session : prepare();

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

void tic_session_event(enum tic_event kind, int64_t *value)
{
    struct tic_session *session = tic_session_of_events();

    if (!session)
        return;
    tic_answers_break();
    uint64_t known = tic_tail_total(&session->graph.events); /* the owner thread adds to it */
    int status = tic_graph_event(&session->graph, kind, value);
    if (status == -EILSEQ)
        tic_stop(TIC_EXIT_DIVERGED, "the replay differs from the recorded run: its calls of time() "
                                    "and the like come in another order");
    if (status)
        tic_snapshot_break(&session->snapshot, "out of memory");
    else
        tic_record_event(known, kind, *value);
}

/* ---- the end of the process ------------------------------------------------------------------ */

static struct tic_session *succeeded; /* its recovery lines are to go */

static void remove_all(void *store)
{
    tic_store_remove(store);
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
    tic_io_start(succeeded->snapshot.patience, 100); /* else it may hang */
    if (succeeded->snapshot.left || tic_io_call(remove_all, &succeeded->store) != 0)
        tic_log(
            TIC_LOG_WARN,
            "%s does not answer: recovery lines may be left there, from which a new start would "
            "continue. Remove them",
            succeeded->store.path);
    tic_io_stop();
}

static void finish(int status, void *arg)
{
    struct tic_session *session = arg;

    if (getpid() != session->process)
        return; /* a child of fork that ended by exit */
    tic_leave_disarm();
    if (session->snapshot.started)
        tic_snapshot_stop(&session->snapshot, true);
    if (starts > 0) /* the program did not shut StarPU down */
        tic_session_on_shutdown_after();
    else
        tic_digest_write(session);
    if (status == 0 && session->recovered && !tic_snapshot_is_broken(&session->snapshot) &&
        !tic_session_is_replayed(session))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: it started StarPU %llu times only. The "
                 "recovery lines in %s are untouched",
                 (unsigned long long)session->starts, session->store.path);
    bool done = status == 0 && !session->settings.keep;
    if (session->snapshot.copier)
        tic_copier_stop(session->snapshot.copier, done);
    session->snapshot.copier = NULL;
    succeeded = done ? session : NULL;
}

/* ---- starpu_init ---------------------------------------------------------------------------- */

static void report_unprotected(const char *why)
{
    tic_log(TIC_LOG_WARN, "this run is not protected: %s", why);
}

static bool copy_conf(const struct starpu_conf *conf, struct starpu_conf *copy)
{
    if (conf)
        *copy = *conf;
    return conf || tic_real.starpu_conf_init(copy) == 0;
}

/* STARPU_TIC_PROTOCOL=off. */
static struct starpu_conf *initialize_unprotected(const struct starpu_conf *conf,
                                                  struct starpu_conf *copy)
{
    struct tic_settings settings;

    read_settings(&settings);
    return settings.protocol == TIC_PROTOCOL_OFF && copy_conf(conf, copy) &&
                   tic_policy_choose_unprotected(copy, &settings)
               ? copy
               : NULL;
}

struct starpu_conf *tic_session_on_initialize_before(struct starpu_conf *conf,
                                                     struct starpu_conf *copy, const char **sched)
{
    const char *why = used && !prepared ? NULL : why_not_at_all();

    if (tic_session && (tic_snapshot_is_broken(&tic_session->snapshot) || !tic_is_owner)) {
        if (!tic_is_owner)
            tic_snapshot_break(&tic_session->snapshot, "another thread starts StarPU again");
        return NULL;
    }
    if (why) {
        static _Atomic(const char *) told; /* a program may start StarPU many times */
        if (atomic_exchange(&told, why) != why)
            report_unprotected(why);
        return NULL;
    }
    struct tic_session *session = prepare();
    if (!session)
        return initialize_unprotected(conf, copy);
    if (!copy_conf(conf, copy))
        return NULL;
    *sched = tic_policy_choose(copy, &session->settings);
    if (!session->opened_store)
        open_store(session, true);
    if (starts == 0)
        tic_workers_start(session, copy);
    return copy;
}

void tic_session_enter_life(void)
{
    pthread_mutex_lock(&life);
}

void tic_session_leave_life(void)
{
    pthread_mutex_unlock(&life);
}

void tic_session_count_start(int result)
{
    starts += result == 0;
}

/* Why StarPU, as it has started, cannot be protected, or NULL. */
static const char *why_not_here(unsigned workers)
{
    if (tic_real.starpu_memory_nodes_get_count() > 1)
        return "StarPU uses more than one memory node (devices, NUMA or disk), which is not "
               "supported yet; STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_USE_NUMA=0 leave one";
    return workers > TIC_MAX_WORKERS
               ? "StarPU has more than 256 workers, which is not supported yet"
               : NULL;
}

/* This start is not protected: no file of ours stays behind, but for lines of earlier runs. A later
 * start opens the store again. */
static void withdraw(struct tic_session *session)
{
    if (session->recovered || tic_session)
        return;
    tic_store_remove(&session->store);
    tic_store_close(&session->store);
    session->opened_store = false;
}

void tic_session_on_initialize_after(int result)
{
    struct tic_session *session = prepared;

    if (session && starts == 0)
        tic_workers_started(session, result == 0);
    if (!session || starts > 0 || atomic_load(&session->watching) || session->ended)
        return;
    if (result != 0) {
        withdraw(session);
        return;
    }
    unsigned workers = tic_real.starpu_worker_get_count();
    const char *why = why_not_here(workers);
    if (why) {
        report_unprotected(why);
        tic_report_problem(session->report, "starpu_init", why);
        tic_report_write(session->report, session); /* no shutdown will */
        withdraw(session);
        return;
    }
    session->snapshot.about.workers = workers;
    tic_is_owner = true;
    int64_t number = session->starts++;
    uint64_t known = tic_tail_total(&session->graph.events);
    if (tic_snapshot_start(&session->snapshot) != 0 ||
        tic_graph_event(&session->graph, TIC_EVENT_START, &number) == -ENOMEM) {
        report_unprotected("cannot create the checkpoint thread");
        return;
    }
    if (!tic_session)
        on_exit(finish, session);
    bool first = !tic_session;
    tic_session = session;
    if (first) {
        session->beacon = session->report ? NULL : tic_beacon_take(session->store.path);
        tic_record_run();
    }
    tic_record_event(known, TIC_EVENT_START, number);
    tic_hooks_install(session);
    atomic_store(&session->watching, true);
    tic_leave_arm(session);
    tic_live_start(session);
}

/* ---- starpu_shutdown ------------------------------------------------------------------------ */

/* The recorded run may have started StarPU again. */
static void check_complete(struct tic_session *session)
{
    int64_t number;

    if (session->recovered && !tic_session_is_replayed(session) &&
        !tic_graph_expects(&session->graph, TIC_EVENT_START, &number))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: the program shuts StarPU down after "
                 "%llu submissions, but the recovery line holds a done task after %llu. The "
                 "recovery lines in %s are untouched",
                 (unsigned long long)session->graph.signature.position,
                 (unsigned long long)tic_doneset_end(&session->graph.recovered_done) - 1,
                 session->store.path);
}

bool tic_session_on_shutdown_before(void)
{
    struct tic_session *session = tic_session;

    starts -= starts > 0; /* StarPU counts, too */
    if (!session || starts > 0)
        return false;
    tic_workers_shutdown();
    if (tic_session_is_watching())
        tic_data_leave_all();
    if (atomic_exchange(&session->watching, false))
        check_complete(session);
    else
        session->ended = true;
    tic_data_forget_all();
    tic_position_close();
    if (session->snapshot.started)
        tic_snapshot_stop(&session->snapshot, false);
    return true;
}

void tic_session_on_shutdown_after(void)
{
    struct tic_session *session = tic_session;

    if (session->settings.stats[0])
        tic_stats_write(session);
    tic_digest_write(session);
    tic_report_write(session->report, session);
}

const char *tic_session_place(const char *call)
{
    static __thread char place[256];
    struct starpu_task *task = tic_clock_current_task();

    if (!task)
        task = tic_real.starpu_task_get_current();
    if (!task || !task->cl)
        return call;
    snprintf(place, sizeof(place), "%s in %stask \"%s\"", call,
             tic_in_callback > 0 ? "the callback of " : "", tic_task_name(task));
    return place;
}

void tic_session_unprotect(const char *what, const char *why)
{
    struct tic_session *session = tic_session;

    if (session->recovered && atomic_load(&session->watching) && !tic_session_is_owner() &&
        tic_session_context() != TIC_CONTEXT_STARPU)
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
        tic_report_problem(session->report, what, why);
        tic_redux_fold_all(); /* others than the owner thread may use the data next */
        return;
    }
    if (session->recovered && !tic_session_is_replayed(session))
        tic_stop(TIC_EXIT_DIVERGED,
                 "%s: %s, but the recorded run came further. The recovery lines in %s are "
                 "untouched",
                 what, why, session->store.path);
    tic_snapshot_break(&session->snapshot, "%s: %s", what, why);
    if (session->recovered)
        tic_data_restore_all();
    atomic_store(&session->watching, false);
    tic_redux_fold_all();
}

void tic_session_stop_watching(const char *what, const char *why)
{
    tic_session_unprotect(what, why);
    if (tic_session->report)
        atomic_store(&tic_session->watching, false);
}
