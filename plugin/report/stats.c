/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The statistics file (STARPU_TIC_STATS). docs: starpu-tic(7). */
#include "report/stats.h"

#include <jansson.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "base/thread.h"
#include "session/context.h"
#include "session/kernels.h"
#include "sched/tic_ws.h"
#include "snapshot/copier.h"
#include "base/memory.h"
#include "store/held.h"

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
        totals.executed += atomic_load(&tic_cut_slot(cut, i)->executed);
        add_held(&totals, &tic_cut_slot(cut, i)->held);
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

/* What this run did. */
static json_t *describe_run(struct tic_session *session, const struct totals *totals)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    const struct starpu_sched_policy *policy = &session->policies[0];

    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, "
        "s:f, "
        "s:I, s:I, s:I, s:I}",
        "scheduler", policy->policy_name ? policy->policy_name : "", //
        "tasks_submitted",
        (json_int_t)(session->graph.signature.position + atomic_load(&session->spawned)), //
        "tasks_of_reductions", (json_int_t)atomic_load(&session->reduction_tasks),        //
        "forced_checkpoints", (json_int_t)atomic_load(&snapshot->counts.forced_saved),
        "forced_used", (json_int_t)atomic_load(&session->forced_used), "tasks_executed",
        (json_int_t)(totals->executed - atomic_load(&session->stand_ins)),                //
        "tasks_skipped", (json_int_t)atomic_load(&session->skipped),                      //
        "tasks_executed_again", (json_int_t)atomic_load(&session->rerun),                 //
        "handles_restored", (json_int_t)atomic_load(&session->restored),                  //
        "checkpoints", (json_int_t)atomic_load(&snapshot->counts.checkpoints),            //
        "values_written", (json_int_t)atomic_load(&session->store.counts.values_written), //
        "bytes_written", (json_int_t)atomic_load(&session->store.counts.bytes_written),   //
        "held_seconds", (double)totals->held_ns * 1e-9,                                   //
        "held_max_seconds", (double)totals->held_max_ns * 1e-9,                           //
        "held_cpu_seconds", (double)totals->held_cpu_ns * 1e-9,                           //
        "held_cpu_max_seconds", (double)totals->held_cpu_max_ns * 1e-9,                   //
        "held_times", held_times(totals),                                                 //
        "main_held_seconds", (double)atomic_load(&snapshot->counts.main_held_ns) * 1e-9,  //
        "thefts", (json_int_t)tic_ws_thefts(),                                            //
        "values_shared", (json_int_t)atomic_load(&session->store.counts.values_shared),
        "bytes_shared", (json_int_t)atomic_load(&session->store.counts.bytes_shared),
        "bytes_spared", (json_int_t)atomic_load(&session->store.counts.bytes_spared));
}

/* What a checkpoint costs, and how often one is taken. */
static json_t *describe_pace(struct tic_session *session)
{
    const struct tic_snapshot *snapshot = &session->snapshot;

    return json_pack("{s:b, s:f, s:I, s:f, s:I, s:I, s:f, s:f}", "period_auto",
                     (int)snapshot->pace.adaptive,                                         //
                     "period_seconds", snapshot->period,                                   //
                     "windows", (json_int_t)atomic_load(&snapshot->window.opened),         //
                     "window_seconds", (double)atomic_load(&snapshot->window.ns) * 1e-9,   //
                     "values_fetched", (json_int_t)atomic_load(&snapshot->window.fetched), //
                     "bytes_fetched", (json_int_t)atomic_load(&snapshot->window.bytes),    //
                     "checkpoint_cost_seconds",
                     (double)atomic_load(&snapshot->pace.cost_ns) * 1e-9, //
                     "checkpoint_latency_seconds",
                     (double)atomic_load(&snapshot->pace.latency_ns) * 1e-9);
}

/* How protection and its log fared. */
static json_t *describe_protection(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;

    return json_pack(
        "{s:b, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:b}", //
        "recovered", (int)session->recovered,                                          //
        "recovered_tasks", (json_int_t)session->recovered_tasks,                       //
        "suspensions", (json_int_t)atomic_load(&snapshot->counts.suspensions),         //
        "checkpoints_failed", (json_int_t)atomic_load(&snapshot->counts.failures),     //
        "values_held", (json_int_t)atomic_load(&snapshot->counts.values_held),         //
        "calls_handed_over", (json_int_t)tic_io_handed(),                              //
        "suspended", (int)tic_protection_is_suspended(&snapshot->protection),          //
        "protected", (int)!tic_snapshot_is_broken(snapshot),                           //
        "protocol", tic_protocol_names[session->settings.protocol],                    //
        "results_replaced", (json_int_t)atomic_load(&snapshot->results.reuse.rows),    //
        "events_logged", (json_int_t)atomic_load(&snapshot->log.records),              //
        "log_bytes", (json_int_t)atomic_load(&snapshot->log.bytes),                    //
        "log_size", (json_int_t)tic_eventlog_volume(&snapshot->log),                   //
        "tasks_not_logged", (json_int_t)atomic_load(&snapshot->results.uncovered),     //
        "lines_needed", (int)atomic_load(&snapshot->results.needs_lines));
}

/* What the store and its copies are like. */
static json_t *describe_store(struct tic_session *session)
{
    struct tic_copier_counts copies = {0};

    if (session->snapshot.copier)
        tic_copier_count(session->snapshot.copier, &copies);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I}",         //
                     "segments", (json_int_t)session->store.segment_count,                   //
                     "segments_removed", (json_int_t)session->store.counts.segments_removed, //
                     "values_moved",
                     (json_int_t)atomic_load(&session->store.counts.values_moved), //
                     "values_in_images",
                     (json_int_t)tic_held_count_images(&session->store.rows),    //
                     "memory_left", (json_int_t)(tic_memory_left() & INT64_MAX), //
                     "memory_refused", (json_int_t)tic_memory_refused(),         //
                     "copies", (json_int_t)copies.copies,                        //
                     "copies_failed", (json_int_t)copies.failed,                 //
                     "copy_bytes", (json_int_t)copies.bytes,                     //
                     "copied_line", (json_int_t)copies.line,                     //
                     "copy_late", (int)copies.late,                              //
                     "failpoint_passes", (json_int_t)tic_failpoint_passes());
}

/* What the crash before cost, and the restart. */
static json_t *describe_recovery(struct tic_session *session)
{
    const struct tic_snapshot *snapshot = &session->snapshot;
    const struct tic_planned *planned = &snapshot->recovery.planned;

    return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",                     //
                     "results_found", (json_int_t)snapshot->recovery.results_found,            //
                     "lost_tasks", (json_int_t)snapshot->recovery.lost_tasks,                  //
                     "lost_seconds", (double)snapshot->recovery.lost_ns * 1e-9,                //
                     "bytes_restored", (json_int_t)atomic_load(&session->store.reading.bytes), //
                     "bytes_verified",
                     (json_int_t)atomic_load(&session->store.reading.bytes_verified), //
                     "planned_tasks", (json_int_t)planned->tasks,                     //
                     "planned_executions", (json_int_t)planned->executes,             //
                     "planned_least", (json_int_t)planned->least,                     //
                     "planned_values", (json_int_t)planned->values,                   //
                     "planned_bytes", (json_int_t)planned->bytes);
}

/* Tasks that failed, and tasks that were executed twice. */
static json_t *describe_repeats(struct tic_session *session)
{
    const struct tic_settings *settings = &session->settings;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "retries",
        (json_int_t)atomic_load(&tic_kernels_counts.retried),                                //
        "retries_elsewhere", (json_int_t)atomic_load(&tic_kernels_counts.retried_elsewhere), //
        "certify_percent", (json_int_t)settings->certify, "certify_seed",
        (json_int_t)tic_kernels_counts.seed,                                                     //
        "certified", (json_int_t)atomic_load(&tic_kernels_counts.certified),                     //
        "certified_elsewhere", (json_int_t)atomic_load(&tic_kernels_counts.certified_elsewhere), //
        "certify_left_out", (json_int_t)atomic_load(&tic_kernels_counts.left_out),               //
        "certify_different", (json_int_t)atomic_load(&tic_kernels_counts.differing));
}

/* All runs of this store, the accounting of Jafar, Krings and Gautier: time with faults over time
 * without them is their equation 9, where the latter is what was not lost. */
static json_t *describe_account(struct tic_session *session)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    const struct tic_account *earlier = &snapshot->recovery.earlier;
    double seconds = (double)(tic_nanoseconds(CLOCK_MONOTONIC) - snapshot->started_ns);
    double all = seconds + (double)earlier->spent;
    double useful = all - (double)earlier->lost;

    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "runs", (json_int_t)(earlier->runs + 1), //
        "seconds", seconds * 1e-9, "all_seconds", all * 1e-9, "all_lost_seconds",
        (double)earlier->lost * 1e-9, "fault_ratio", useful > 0 ? all / useful : 1.0,
        "all_checkpoints",
        (json_int_t)(earlier->checkpoints + atomic_load(&snapshot->counts.checkpoints)), //
        "all_events", (json_int_t)(earlier->logged + atomic_load(&snapshot->log.records)),
        "all_bytes",
        (json_int_t)(earlier->stored + atomic_load(&session->store.counts.bytes_written)));
}

struct dump {
    const char *path;
    const json_t *stats;
    int status;
};

static void dump_apart(void *arg)
{
    struct dump *dump = arg;

    dump->status = json_dump_file(dump->stats, dump->path,
                                  JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
}

int tic_stats_write(struct tic_session *session)
{
    struct totals totals = sum_slots(&session->snapshot.cut);
    json_t *parts[] = {describe_run(session, &totals), describe_pace(session),
                       describe_protection(session),   describe_store(session),
                       describe_recovery(session),     describe_repeats(session),
                       describe_account(session)};
    json_t *stats = json_object();
    struct dump dump = {session->settings.stats, stats, 0};
    int status = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        status |= !parts[i] || json_object_update(stats, parts[i]) != 0;
        json_decref(parts[i]);
    }
    if (status == 0)
        tic_apart_call(dump_apart, &dump);
    status = status ? status : dump.status;
    json_decref(stats);
    if (status == 0)
        return 0;
    tic_log(TIC_LOG_WARN, "cannot write the statistics file %s", session->settings.stats);
    return -EIO;
}
