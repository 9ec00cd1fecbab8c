/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session: one protected StarPU instance, from starpu_init to the end of the process. */
#include "interpose/session.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/trace.h"
#include "session/context.h"
#include "interpose/answers.h"
#include "interpose/create.h"
#include "interpose/digest.h"
#include "interpose/ending.h"
#include "interpose/hooks.h"
#include "interpose/leave.h"
#include "report/asked.h"
#include "session/lookup.h"
#include "interpose/movable.h"
#include "session/nodes.h"
#include "session/peers.h"
#include "session/ranks.h"
#include "session/slave.h"
#include "interpose/opening.h"
#include "interpose/pins.h"
#include "interpose/position.h"
#include "interpose/ranks.h"
#include "interpose/record.h"
#include "interpose/redo.h"
#include "interpose/redux.h"
#include "report/stats.h"
#include "report/unprotected.h"
#include "interpose/unregister.h"
#include "interpose/workers.h"
#include "interpose/writeback.h"
#include "real/real.h"
#include "snapshot/copier.h"
#include "base/settings.h"
#include "sched/tic_ws.h"

/* ---- the scheduling policy ------------------------------------------------------------------- */

/* Which scheduling policy runs: STARPU_TIC_SCHED, STARPU_SCHED, what the application asks for in
 * starpu_conf, else tic-ws; in this order. */

static bool is_known(const char *name)
{
    struct starpu_sched_policy **policy = tic_real.starpu_sched_get_predefined_policies();

    if (getenv("STARPU_SCHED_LIB"))
        return true; /* StarPU itself will look there */
    for (; *policy; policy++)
        if ((*policy)->policy_name && strcmp((*policy)->policy_name, name) == 0)
            return true;
    return false;
}

static void take_ours(struct starpu_conf *conf)
{
    conf->sched_policy = &tic_ws_policy;
    conf->sched_policy_name = NULL;
}

/* What the program asks for, or StarPU's defaults (conf NULL). False: StarPU has none. */
static bool tic_policy_copy(const struct starpu_conf *conf, struct starpu_conf *copy)
{
    if (conf)
        *copy = *conf;
    return conf || tic_real.starpu_conf_init(copy) == 0;
}

static bool tic_policy_choose_unprotected(struct starpu_conf *conf,
                                          const struct tic_settings *settings)
{
    const char *name = settings->sched[0] ? settings->sched : getenv("STARPU_SCHED");

    if (!name && !conf->sched_policy)
        name = conf->sched_policy_name;
    bool ours = name && strcmp(name, TIC_WS_NAME) == 0;
    if (ours)
        take_ours(conf);
    return ours;
}

/* Changes conf so that StarPU takes the chosen policy. Returns the value that STARPU_SCHED must
 * have during the real call, or NULL for unset: StarPU lets it win over a named policy. */
static const char *tic_policy_choose(struct starpu_conf *conf, const struct tic_settings *settings)
{
    const char *environment = getenv("STARPU_SCHED");
    const char *name = settings->sched[0] ? settings->sched : environment;

    if (!name && !conf->sched_policy)
        name = conf->sched_policy_name ? conf->sched_policy_name : TIC_WS_NAME;
    if (!name)
        return NULL; /* the application's own policy */
    if (strcmp(name, TIC_WS_NAME) == 0) {
        take_ours(conf);
        return NULL;
    }
    if (settings->sched[0] && !is_known(name))
        tic_stop(TIC_EXIT_REFUSED,
                 "STARPU_TIC_SCHED=%s is not valid: StarPU knows no such policy (STARPU_SCHED=help "
                 "lists them; %s is ours)",
                 name, TIC_WS_NAME);
    if (name == environment || name == settings->sched)
        conf->sched_policy = NULL;
    conf->sched_policy_name = name;
    return name;
}

/* Held while a thread starts StarPU or shuts it down: other threads may do so at the same time. */
static pthread_mutex_t life = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unsigned long starts; /* guarded by life: of StarPU, without those that were undone */

static void finish(int status, void *arg)
{
    struct tic_session *session = arg;

    if (getpid() != session->process)
        return; /* a child of fork that ended by exit */
    bool done = status == 0 && !session->settings.keep;
    tic_leave_disarm();
    tic_asked_close();
    if (done)
        atomic_store(&session->store.ending, true);
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
    if (session->snapshot.copier)
        tic_copier_stop(session->snapshot.copier, done);
    session->snapshot.copier = NULL;
    tic_success_note(done ? session : NULL);
    tic_trace_put("end", ", \"status\": %d", status);
    tic_trace_flush();
}

/* With spaces between them. */
static void quote_arguments(char *quoted, unsigned size, const struct tic_line_text *arguments)
{
    unsigned used = 0;

    quoted[0] = '\0';
    for (size_t at = 0; at < arguments->size; at += strlen(arguments->text + at) + 1) {
        if (used > 0 && used + 1 < size)
            quoted[used++] = ' ';
        tic_trace_quote(quoted + used, size - used, arguments->text + at);
        used += (unsigned)strlen(quoted + used);
    }
}

/* What a report says of the run. */
static void trace_start(const struct tic_session *session, uint64_t line)
{
    const struct tic_snapshot *snapshot = &session->snapshot;
    char path[PATH_MAX], program[PATH_MAX], host[256], arguments[512];

    if (!tic_trace_is_on())
        return;
    tic_trace_quote(path, sizeof(path), session->store.path);
    tic_trace_quote(program, sizeof(program), snapshot->about.program);
    tic_trace_quote(host, sizeof(host), snapshot->about.host);
    quote_arguments(arguments, sizeof(arguments), &snapshot->about.arguments);
    tic_trace_put("directory", ", \"path\": \"%s\"", path);
    tic_trace_put("start",
                  ", \"program\": \"%.500s\", \"arguments\": \"%s\", \"host\": \"%s\", "
                  "\"workers\": %u, \"line\": %llu, "
                  "\"tasks_done\": %llu, \"protocol\": \"%s\", \"period\": %g, \"mtbf\": %g",
                  program, arguments, host, (unsigned)snapshot->about.workers,
                  (unsigned long long)line, (unsigned long long)session->recovered_tasks,
                  tic_protocol_names[session->settings.protocol], snapshot->period,
                  session->settings.mtbf);
    tic_trace_wake(); /* a report of a run that dies now has nothing else */
}

/* ---- starpu_init ---------------------------------------------------------------------------- */

/* STARPU_TIC_PROTOCOL=off. */
static struct starpu_conf *initialize_unprotected(const struct starpu_conf *conf,
                                                  struct starpu_conf *copy)
{
    struct tic_settings settings;

    tic_session_read(&settings);
    return settings.protocol == TIC_PROTOCOL_OFF && tic_policy_copy(conf, copy) &&
                   tic_policy_choose_unprotected(copy, &settings)
               ? copy
               : NULL;
}

static void tell_unprotected(const char *why)
{
    static _Atomic(const char *) told; /* a program may start StarPU many times */

    if (atomic_exchange(&told, why) != why)
        tic_unprotected_report(why);
}

static void start_slave(const char *why)
{
    struct tic_settings settings;

    tic_session_read(&settings);
    if (settings.protocol != TIC_PROTOCOL_OFF)
        tic_unprotected_tell_slave(why);
}

/* Without the master StarPU takes the slave for an ordinary process. */
void tic_session_require_master(int result)
{
    struct tic_settings settings;

    if (!tic_slave_is() || tic_slave_is_connected() || result != 0)
        return;
    tic_session_read(&settings);
    if (settings.protocol != TIC_PROTOCOL_OFF)
        tic_stop(TIC_EXIT_REFUSED,
                 "this process is to be a slave (STARPU_TCPIP_MS_MASTER=%s), but StarPU did not "
                 "reach the master, and would run the whole program here. Start the master first, "
                 "with the same STARPU_TCPIP_MS_SLAVES and STARPU_TCPIP_MS_PORT",
                 tic_slave_master());
}

/* If it fails, the first line tries again. */
static void claim(void *store)
{
    tic_store_claim(store);
}

struct starpu_conf *tic_session_on_initialize_before(struct starpu_conf *conf,
                                                     struct starpu_conf *copy, const char **sched)
{
    const char *why = tic_opening_is_over() ? NULL : tic_unprotected_why();

    if (tic_session && (tic_snapshot_is_broken(&tic_session->snapshot) || !tic_is_owner)) {
        if (!tic_is_owner)
            tic_snapshot_break(&tic_session->snapshot, "another thread starts StarPU again");
        return NULL;
    }
    if (why) {
        if (tic_slave_is())
            start_slave(why);
        else
            tell_unprotected(why);
        return NULL;
    }
    struct tic_session *session = tic_opening_prepare();
    if (session && !tic_opening_create_store(session))
        session = NULL; /* the working directory is another one since it was opened */
    if (!session && tic_opening_why_not())
        tell_unprotected(tic_opening_why_not());
    if (!session)
        return initialize_unprotected(conf, copy);
    if (!tic_policy_copy(conf, copy))
        return NULL;
    tic_slave_prepare_master(copy);
    tic_leave_note_program();
    *sched = tic_policy_choose(copy, &session->settings);
    tic_apart_call(claim, &session->store);
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

static void remove_store(void *store)
{
    tic_store_remove(store);
    tic_store_close(store);
}

/* This start is not protected: no file of ours stays behind, but for lines of earlier runs. A later
 * start opens the store again. */
static void withdraw(struct tic_session *session)
{
    if (session->recovered || tic_session)
        return;
    tic_apart_call(remove_store, &session->store);
    session->opened_store = false;
}

static void tell_protected(const struct tic_session *session)
{
    const struct tic_snapshot *snapshot = &session->snapshot;
    char how[96], ranks[32] = "";

    if (session->report || session->recovered)
        return;
    if (tic_ranks_job())
        snprintf(ranks, sizeof(ranks), " of %u rank%s", tic_ranks_count(),
                 tic_ranks_count() == 1 ? "" : "s");
    if (snapshot->options.periodic)
        tic_numbers_print(how, sizeof(how), "a checkpoint%s every %g s", ranks, snapshot->period);
    else
        snprintf(how, sizeof(how), "the result of each task%s", ranks);
    tic_log(TIC_LOG_INFO, "protected: %s in %s (STARPU_TIC_VERBOSE=0 silences this)", how,
            tic_ranks_job() ? tic_ranks_job() : session->store.path);
}

static void take_beacon(void *arg)
{
    struct tic_session *session = arg;

    session->beacon = tic_beacon_take(tic_ranks_job() ? tic_ranks_job() : session->store.path);
    if (session->beacon)
        atomic_store(&session->beacon->is_rank, tic_ranks_job() != NULL);
}

/* Their contexts may outlive starpu_shutdown(). */
static void prepare_for_gpus(struct tic_session *session)
{
    if (!tic_nodes_has_gpu())
        return;
    session->snapshot.options.image_least = session->store.rows.image_least = 0;
    tic_pins_start(session->report ? 0 : session->settings.pin);
}

void tic_session_on_initialize_after(int result)
{
    struct tic_session *session = tic_session_opened();

    if (session && starts == 0)
        tic_workers_started(session, result == 0);
    if (!session || starts > 0 || atomic_load(&session->watching) || session->ended)
        return;
    if (result != 0) {
        withdraw(session);
        return;
    }
    unsigned workers = tic_real.starpu_worker_get_count();
    const char *why =
        tic_unprotected_why_here(workers, session->settings.devices == TIC_DEVICES_ALL);
    if (why) {
        tic_unprotected_report(why);
        TIC_LINT(problem, "starpu_init", why);
        TIC_LINT(end, session); /* no shutdown will */
        withdraw(session);
        return;
    }
    session->snapshot.about.workers = workers;
    session->snapshot.options.other_memory =
        (struct tic_other_memory){tic_nodes_several, tic_movable_ask};
    prepare_for_gpus(session);
    tic_session_own();
    int64_t number = session->starts++;
    uint64_t known = tic_tail_total(&session->graph.events);
    /* Before the checkpoint thread, whose it is then, begins. */
    uint64_t line = session->recovered ? session->store.kept[0].number : 0;
    int status = tic_snapshot_start(&session->snapshot);
    if (status == 0 && tic_graph_event(&session->graph, TIC_EVENT_START, &number) == -ENOMEM)
        status = -ENOMEM;
    if (status) {
        tic_unprotected_report(tic_unprotected_no_thread(status));
        return;
    }
    tic_answers_set_clock(&session->graph);
    static const struct tic_ending steps = {tic_session_is_replayed, tic_redux_fold_all};
    tic_session_end_by(&steps);
    bool first = !tic_session;
    tic_session = session;
    if (first) {
        on_exit(finish, session);
        tic_redo_start(session);
        if (!session->report)
            tic_apart_call(take_beacon, session);
        tell_protected(session);
        tic_record_run();
        trace_start(session, line);
    }
    tic_record_event(known, TIC_EVENT_START, number);
    tic_hooks_install(session);
    atomic_store(&session->watching, true);
    if (tic_nodes_has_slaves() && session->settings.slave_patience > 0)
        tic_peers_watch(tic_peers_port(), session->settings.slave_patience);
    tic_leave_arm(session);
    tic_live_start(session);
}

/* ---- starpu_shutdown ------------------------------------------------------------------------ */

/* The recorded run may have started StarPU again. */
static void check_complete(struct tic_session *session)
{
    const uint64_t done = tic_doneset_end(&session->graph.recovered.done);
    int64_t number;
    char further[80] = "main() had come further by the recovery line";

    if (!session->recovered || tic_session_is_replayed(session) ||
        tic_graph_expects(&session->graph, TIC_EVENT_START, &number))
        return;
    if (done > 0)
        snprintf(further, sizeof(further), "the recovery line holds a done task after %llu",
                 (unsigned long long)done - 1);
    tic_stop(TIC_EXIT_DIVERGED,
             "the replay differs from the recorded run: the program shuts StarPU down after "
             "%llu submissions, but %s. The recovery lines in %s are untouched",
             (unsigned long long)session->graph.signature.position, further, session->store.path);
}

bool tic_session_on_shutdown_before(void)
{
    struct tic_session *session = tic_session;

    starts -= starts > 0; /* StarPU counts, too */
    if (!session || starts > 0)
        return false;
    if (tic_session_is_watching() && tic_session_is_owner())
        tic_redo_begin(TIC_REPLAY_ASKS);
    tic_workers_shutdown();
    if (tic_nodes_several)
        tic_writeback_settle();
    if (tic_session_is_watching())
        tic_data_leave_all();
    if (atomic_exchange(&session->watching, false))
        check_complete(session);
    else
        session->ended = true;
    tic_data_forget_all();
    tic_position_close();
    if (session->snapshot.started && session->settings.stats[0]) /* they tell of the last line */
        tic_snapshot_stop(&session->snapshot, false);
    else if (session->snapshot.started)
        tic_snapshot_release(&session->snapshot);
    return true;
}

void tic_session_on_shutdown_after(void)
{
    struct tic_session *session = tic_session;

    if (session->settings.stats[0])
        tic_stats_write(session);
    tic_digest_write(session);
    TIC_LINT(end, session);
}
