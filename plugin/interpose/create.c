/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session from the settings: what protection does in this run. */
#include "interpose/create.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "base/memory.h"
#include "base/type_rules.h"
#include "base/trace.h"
#include "session/about.h"
#include "session/context.h"
#include "session/ranks.h"
#include "report/told.h"
#include "store/h5load.h"
#include "store/held.h"

static const char *environment_get(const char *name)
{
    return secure_getenv(name);
}

void tic_session_read(struct tic_settings *settings)
{
    char message[512];

    if (tic_settings_read(settings, environment_get, environ, message, sizeof(message)) != 0)
        tic_stop(TIC_EXIT_REFUSED, "%s", message);
    if (tic_failpoint_arm(settings->fail, tic_ranks_rank()) != 0)
        tic_stop(TIC_EXIT_REFUSED,
                 "STARPU_TIC_FAIL=%s is not valid: it takes name[:n][@rank][,stop|,term], and "
                 "`starpu-tic failpoints` lists the names",
                 settings->fail);
    tic_log_set_level(settings->verbose);
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

/* Each rank has a file of its own: runs follow each other in a trace, and statistics are of one. */
static const char *name_of_rank(const char *path)
{
    char *own;

    if (!path[0] || !tic_ranks_library())
        return path;
    return tic_or_stop(asprintf(&own, "%s.p%u", path, tic_ranks_rank()) > 0 ? own : NULL);
}

static void open_trace(const char *path)
{
    int status = path[0] ? tic_trace_open(path) : 0;

    if (status)
        tic_stop(TIC_EXIT_REFUSED, "STARPU_TIC_TRACE=%s cannot be written: %s", path,
                 status == -EINVAL ? "it is no plain file" : strerror(-status));
}

/* Values wait there that main() gets back: a program has a few large ones. */
static uint64_t choose_memory(void)
{
    uint64_t part = tic_memory_total() / 8;

    return part > TIC_HELD_MOST ? part : TIC_HELD_MOST;
}

/* What is logged when a task ends. Results beyond the line are not compared with memory, so where
 * lines are, a restart uses none, and a run logs none. */
static void set_logging(struct tic_session *session)
{
    const struct tic_settings *settings = &session->settings;
    struct tic_snapshot *snapshot = &session->snapshot;
    const char *protocol = tic_protocol_names[settings->protocol];
    const bool sel = settings->protocol != TIC_PROTOCOL_TIC && !settings->report[0];
    /* What main() of another rank was told since the line is in no log of theft. */
    const bool logs = settings->verify == 0 && (sel || !tic_ranks_library());

    snapshot->options.forced_percent = logs ? settings->forced : 0;
    snapshot->options.ignore_results = !settings->results || !logs;
    snapshot->options.log_all = sel && logs;
    /* Copies are of lines: a log that is not copied would leave nothing but the first one. */
    snapshot->options.periodic = settings->protocol != TIC_PROTOCOL_SEL || settings->copy[0] ||
                                 snapshot->options.ignore_results;
    snapshot->options.sync_ns =
        snapshot->options.log_all ? (uint64_t)settings->log_sync * 1000000 : 0;
    /* Tasks that save their results themselves wait for that: nothing is left to compress. */
    snapshot->options.compress = snapshot->options.log_all ? 0 : settings->compress;
    if (settings->compress > snapshot->options.compress)
        tic_log(TIC_LOG_INFO,
                "STARPU_TIC_COMPRESS has no effect under %s: results are saved as they are when "
                "tasks end",
                protocol);
    if (sel && !logs)
        tic_log(TIC_LOG_INFO,
                "%s: results of single tasks are logged only with STARPU_TIC_VERIFY=0; starpu-tic "
                "explain sel",
                protocol);
}

struct tic_session *tic_session_create(const struct tic_settings *settings)
{
    struct tic_session *session = calloc(1, sizeof(*session));
    if (!session || tic_graph_init(&session->graph) != 0 ||
        tic_snapshot_init(&session->snapshot, &session->graph, &session->store, TIC_MAX_WORKERS) !=
            0)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    tic_lock_init(&session->submit, TIC_RANK_SUBMIT);
    session->settings = *settings;
    session->settings.stats = name_of_rank(settings->stats);
    session->settings.trace = name_of_rank(settings->report[0] ? "" : settings->trace);
    check_stats(session->settings.stats);
    open_trace(session->settings.trace);
    session->snapshot.period = tic_pace_init(&session->snapshot.pace, settings);
    session->snapshot.options.every = settings->every;
    if (settings->patience > 0)
        session->snapshot.options.patience = settings->patience;
    set_logging(session);
    session->snapshot.options.endless = settings->patience == 0;
    tic_io_use_maps(session->snapshot.options.log_all &&
                    settings->patience == TIC_PATIENCE_DEFAULT);
    session->snapshot.verify.percent = settings->report[0] ? 0 : (unsigned)settings->verify;
    session->snapshot.verify.looks = session->snapshot.verify.percent > 0;
    session->snapshot.options.log_bound = settings->log;
    session->snapshot.options.keep_lines = (unsigned)settings->keep_lines;
    session->snapshot.options.space = settings->space;
    session->snapshot.options.memory = settings->memory > 0 ? settings->memory : choose_memory();
    session->snapshot.options.image_least = settings->image;
    session->snapshot.options.copy =
        settings->copy[0] && !settings->report[0] ? settings->copy : NULL;
    session->snapshot.options.any_program = settings->program == TIC_PROGRAM_ANY;
    session->snapshot.options.rerun_off = !settings->rerun;
    if (!tic_type_rules_set(settings->types))
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    session->process = getpid();
    session->snapshot.unregistered.trusted = settings->pointers == TIC_POINTERS_TRUST;
    session->report = session->snapshot.options.dry = settings->report[0] != '\0';
    TIC_LINT(begin, session);
    tic_answers_start();
    tic_about_fill(&session->snapshot.about);
    return session;
}

const struct tic_h5_ops *tic_session_load_module(void)
{
    Dl_info self = {0};
    const char *reason = "no path of libstarputic.so";
    const struct tic_h5_ops *ops = NULL;

    tic_guard++; /* what HDF5 allocates is not main()'s */
    if (dladdr((void *)tic_session_load_module, &self) && self.dli_fname)
        ops = tic_h5_load(self.dli_fname, &reason);
    tic_guard--;
    tic_answers_note_store(ops);
    if (!ops)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot load the store module: %s. Is starpu-tic installed completely?", reason);
    return ops;
}
