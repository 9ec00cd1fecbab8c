/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The statistics file (STARPU_TIC_STATS). docs: starpu-tic(7). */
#include <errno.h>
#include <jansson.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/quiet.h"
#include "interpose/session.h"
#include "sched/tic_ws.h"
#include "snapshot/copier.h"

/* Sums and maxima over the workers. */
struct totals {
    uint64_t executed, held_ns, held_max_ns, held_cpu_ns, held_cpu_max_ns;
    uint64_t times[TIC_HELD_CLASSES];
};

static void add_held(struct totals *totals, const struct tic_held *held)
{
    uint64_t longest = atomic_load(&held->max_ns), cpu = atomic_load(&held->cpu_max_ns);

    totals->held_ns += atomic_load(&held->ns);
    totals->held_cpu_ns += atomic_load(&held->cpu_ns);
    if (longest > totals->held_max_ns)
        totals->held_max_ns = longest;
    if (cpu > totals->held_cpu_max_ns)
        totals->held_cpu_max_ns = cpu;
    for (unsigned i = 0; i < TIC_HELD_CLASSES; i++)
        totals->times[i] += atomic_load(&held->times[i]);
}

static struct totals sum_slots(const struct tic_cut *cut)
{
    struct totals totals = {0};
    for (unsigned i = 0; i < cut->slot_count; i++) {
        totals.executed += atomic_load(&cut->slots[i].executed);
        add_held(&totals, &cut->slots[i].held);
    }
    return totals;
}

static json_t *held_times(const struct totals *totals)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < TIC_HELD_CLASSES; i++)
        json_array_append_new(list, json_integer((json_int_t)totals->times[i]));
    return list;
}

/* What the store and its copies are like. */
static json_t *store_statistics(struct tic_session *session)
{
    struct tic_copier_counts copies = {0};

    if (session->snapshot.copier)
        tic_copier_count(session->snapshot.copier, &copies);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I}",                       //
                     "segments", (json_int_t)session->store.segment_count,                  //
                     "segments_removed", (json_int_t)session->store.segments_removed,       //
                     "values_moved", (json_int_t)atomic_load(&session->store.values_moved), //
                     "copies", (json_int_t)copies.copies,                                   //
                     "copies_failed", (json_int_t)copies.failed,                            //
                     "copy_bytes", (json_int_t)copies.bytes,                                //
                     "copied_line", (json_int_t)copies.line,                                //
                     "copy_late", (int)copies.late,                                         //
                     "failpoint_passes", (json_int_t)tic_failpoint_passes());
}

int tic_stats_write(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    struct totals totals = sum_slots(&snapshot->cut);
    const struct starpu_sched_policy *policy = &session->policies[0];
    json_t *stats = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, "
        "s:f, s:I, s:b, s:I, s:I, s:I, s:I, s:b, s:b, s:s, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:f}",
        "scheduler", policy->policy_name ? policy->policy_name : "", //
        "tasks_submitted",
        (json_int_t)(session->graph.signature.position + atomic_load(&session->spawned)), //
        "forced_checkpoints", (json_int_t)atomic_load(&snapshot->forced_saved), "forced_used",
        (json_int_t)atomic_load(&session->forced_used), "tasks_executed",
        (json_int_t)(totals.executed - atomic_load(&session->forced_used)),        //
        "tasks_skipped", (json_int_t)atomic_load(&session->skipped),               //
        "tasks_executed_again", (json_int_t)atomic_load(&session->rerun),          //
        "handles_restored", (json_int_t)atomic_load(&session->restored),           //
        "checkpoints", (json_int_t)atomic_load(&snapshot->checkpoints),            //
        "values_written", (json_int_t)atomic_load(&session->store.values_written), //
        "bytes_written", (json_int_t)atomic_load(&session->store.bytes_written),   //
        "held_seconds", (double)totals.held_ns * 1e-9,                             //
        "held_max_seconds", (double)totals.held_max_ns * 1e-9,                     //
        "held_cpu_seconds", (double)totals.held_cpu_ns * 1e-9,                     //
        "held_cpu_max_seconds", (double)totals.held_cpu_max_ns * 1e-9,             //
        "held_times", held_times(&totals),                                         //
        "main_held_seconds", (double)atomic_load(&snapshot->main_held_ns) * 1e-9,  //
        "thefts", (json_int_t)tic_ws_thefts(),                                     //
        "recovered", (int)session->recovered,                                      //
        "recovered_tasks", (json_int_t)session->recovered_tasks,                   //
        "suspensions", (json_int_t)atomic_load(&snapshot->suspensions),            //
        "checkpoints_failed", (json_int_t)atomic_load(&snapshot->failures),        //
        "values_held", (json_int_t)atomic_load(&snapshot->values_held),            //
        "suspended", (int)atomic_load(&snapshot->suspended),                       //
        "protected", (int)!tic_snapshot_is_broken(snapshot),                       //
        "protocol", tic_protocol_names[session->settings.protocol],                //
        "events_logged", (json_int_t)atomic_load(&snapshot->log.records),          //
        "log_bytes", (json_int_t)atomic_load(&snapshot->log.bytes),                //
        "log_size", (json_int_t)tic_eventlog_volume(&snapshot->log),               //
        "tasks_not_logged", (json_int_t)atomic_load(&snapshot->uncovered),         //
        "lines_needed", (int)atomic_load(&snapshot->needs_lines),                  //
        "results_found", (json_int_t)snapshot->results_found,                      //
        "lost_tasks", (json_int_t)snapshot->lost_tasks,                            //
        "lost_seconds", (double)snapshot->lost_ns * 1e-9);
    json_t *more = store_statistics(session);
    struct tic_quiet quiet;

    if (stats)
        json_object_update(stats, more);
    json_decref(more);
    tic_quiet_begin(&quiet);
    int status =
        stats && json_dump_file(stats, session->settings.stats,
                                JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) == 0
            ? 0
            : -EIO;
    tic_quiet_end(&quiet);
    json_decref(stats);
    if (status)
        tic_log(TIC_LOG_WARN, "cannot write the statistics file %s", session->settings.stats);
    return status;
}
