/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One local checkpoint, from the cut to the committed recovery line. Checkpoint thread only. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/lint.h"
#include "base/fault.h"
#include "base/printed.h"
#include "base/thread.h"
#include "base/trace.h"
#include "snapshot/copier.h"
#include "snapshot/provide.h"
#include "snapshot/ranks.h"
#include "snapshot/save.h"
#include "snapshot/suspend.h"
#include "snapshot/window.h"
#include "store/compact.h"
#include "store/space.h"

/* Seconds between looks at the running tasks of the cut, should a wake-up be lost in a race. */
#define CUT_POLL 0.01

static void set_phase(struct tic_snapshot *snapshot, enum tic_phase phase)
{
    static const enum tic_phase next[] = {
        [TIC_PHASE_IDLE] = TIC_PHASE_PROVIDING,
        [TIC_PHASE_PROVIDING] = TIC_PHASE_SAVING,
        [TIC_PHASE_SAVING] = TIC_PHASE_COMMITTING,
        [TIC_PHASE_COMMITTING] = TIC_PHASE_IDLE,
    };
    if (phase != TIC_PHASE_IDLE && phase != next[snapshot->cycle.phase])
        tic_snapshot_break(snapshot, "internal error: checkpoint phase %d after %d", (int)phase,
                           (int)snapshot->cycle.phase);
    snapshot->cycle.phase = phase;
}

/* ---- the cut -------------------------------------------------------------------------------- */

static int append_handles(struct tic_handle_list *list, struct tic_handle_list *more)
{
    if (tic_reserve(list->items, list->capacity, list->count + more->count) != 0)
        return -ENOMEM;
    if (more->count > 0)
        memcpy(list->items + list->count, more->items, more->count * sizeof(*list->items));
    list->count += more->count;
    more->count = 0;
    return 0;
}

/* No task of the cut is about to announce writes. */
static int gather_dirty(struct tic_snapshot *snapshot, uint64_t cut)
{
    int status = 0;

    for (unsigned i = 0; i < snapshot->cut.slot_count && status == 0; i++) {
        struct tic_handle_list *dirty = &tic_cut_slot(&snapshot->cut, i)->dirty[cut & 1];
        snapshot->cycle.dirtied_before += dirty->count;
        status = append_handles(&snapshot->cycle.due, dirty);
    }
    return status;
}

/* main() has waited, and looks at data, or does so no more, as another thread has submitted tasks
 * since: a restart would show it their values where it sees those of before. */
static bool may_look(const struct tic_snapshot *snapshot)
{
    const struct tic_graph *graph = snapshot->graph;
    uint64_t position = atomic_load(&graph->position);

    return snapshot->verify.looks && (position & ((1u << TIC_WAIT_BITS) - 1)) != 0 &&
           atomic_load(&graph->threads) == position + 1 && (atomic_load(&graph->calls) & 1) == 0;
}

/* A stand-in that is to come does not keep data that its task reads: a line without it, but with
 * tasks that have overwritten such data since, would be of no use. */
static bool may_raise_locked(const struct tic_snapshot *snapshot)
{
    return atomic_load(&snapshot->results.stand_ins) == 0 && !may_look(snapshot);
}

/* If main() looks at nothing without an access, waits since its last operation are no steps:
 * another run may wait more often there, or less. */
static uint64_t where_main_is(const struct tic_snapshot *snapshot)
{
    uint64_t position = atomic_load(&snapshot->graph->position);

    return snapshot->verify.looks ? position : position >> TIC_WAIT_BITS << TIC_WAIT_BITS;
}

/* Raises the epoch and gathers what became dirty up to it. A line has all that main() looked at
 * after a wait that it has come back from. */
static int take_cut(struct tic_snapshot *snapshot, uint64_t *taken)
{
    uint64_t count = tic_snapshot_count(snapshot);
    int status = tic_snapshot_await_cut(snapshot);

    if (status)
        return status;
    tic_lock(&snapshot->graph->lock);
    while (atomic_load(&snapshot->graph->returns)) {
        tic_unlock(&snapshot->graph->lock);
        tic_snapshot_serve_requests(snapshot);
        sched_yield();
        tic_lock(&snapshot->graph->lock);
    }
    if (!may_raise_locked(snapshot)) {
        tic_unlock(&snapshot->graph->lock);
        return -ESTALE;
    }
    tic_extension_before_cut(&snapshot->extension, snapshot->graph);
    atomic_store(&snapshot->graph->cuts, true);
    snapshot->cycle.position = where_main_is(snapshot);
    if (snapshot->ranks)
        snapshot->ranks->cut();
    *taken = tic_cut_raise(&snapshot->cut);
    atomic_store(&snapshot->graph->cuts, false);
    tic_extension_after_cut(&snapshot->extension, snapshot->graph, *taken);
    atomic_store(&snapshot->verify.cut_ns, tic_nanoseconds(CLOCK_MONOTONIC));
    status = append_handles(&snapshot->cycle.due, &snapshot->graph->changed);
    tic_unlock(&snapshot->graph->lock);
    if (snapshot->ranks)
        snapshot->ranks->tell_cut();
    tic_snapshot_note_counted(snapshot, count);
    tic_failpoint(TIC_FAIL_CHECKPOINT_CUT);
    while (!tic_cut_has_entered(&snapshot->cut, *taken)) {
        /* A few instructions of a worker, unless it copies for the cut before and waits for rows.
         */
        tic_snapshot_serve_requests(snapshot);
        sched_yield();
    }
    return status ? status : gather_dirty(snapshot, *taken);
}

/* For tasks of the cut. */
static bool pause_for_tasks(struct tic_snapshot *snapshot)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    bool give_up = tic_snapshot_pause(snapshot, CUT_POLL);

    snapshot->cycle.waited_ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    return give_up;
}

static int save_all(struct tic_snapshot *snapshot, uint64_t cut)
{
    unsigned long left = snapshot->cycle.due.count;
    bool ended = false;
    int status = 0;

    while (status == 0 && (left > 0 || !ended)) {
        ended = tic_cut_has_ended(&snapshot->cut, cut);
        status = tic_save_pass(snapshot, snapshot->cycle.due.items, cut, &left);
        if (status == 0 && (left > 0 || !ended) && pause_for_tasks(snapshot))
            status = -ECANCELED;
        if (tic_snapshot_is_broken(snapshot))
            status = -ECANCELED;
        if (tic_snapshot_is_lost(snapshot, cut))
            status = atomic_load(&snapshot->lost.status);
    }
    return status;
}

/* True when the value of the handle changed again after the cut. */
static bool is_changed_since(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    tic_lock(&snapshot->graph->lock);
    bool gone = tic_handle_is_gone(handle, cut);
    bool leaves = handle->listing.gone_since > cut;
    tic_lock(&handle->saving.lock);
    bool changed = atomic_load_explicit(&handle->saving.dirty_since, memory_order_acquire) != 0 ||
                   handle->saving.current.since > cut;
    tic_unlock(&handle->saving.lock);
    tic_unlock(&snapshot->graph->lock);
    return leaves || (changed && !gone);
}

/* What changed again meanwhile stays listed, for the next cut, unless it is gone. */
static void unlist(struct tic_snapshot *snapshot, uint64_t cut)
{
    struct tic_handle_list *due = &snapshot->cycle.due;
    unsigned long carried = 0;

    for (unsigned long i = 0; i < due->count; i++) {
        struct tic_handle *handle = due->items[i];
        atomic_exchange_explicit(&handle->saving.listed, false, memory_order_acq_rel);
        if (is_changed_since(snapshot, handle, cut) &&
            !atomic_exchange_explicit(&handle->saving.listed, true, memory_order_acq_rel))
            due->items[carried++] = handle;
    }
    due->count = carried;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool has_news(struct tic_snapshot *snapshot)
{
    uint64_t executed = tic_cut_count_executed(&snapshot->cut);

    tic_lock(&snapshot->graph->lock);
    bool news = executed != snapshot->cycle.executed_before || snapshot->graph->changed.count > 0;
    tic_unlock(&snapshot->graph->lock);
    snapshot->cycle.executed_before = executed;
    return news || (snapshot->options.log_all && snapshot->store->kept_count == 0);
}

/* Would the next line hold more logged values than it may? */
static bool is_over_bound(struct tic_snapshot *snapshot)
{
    uint64_t bytes = tic_rows_pinned(&snapshot->store->rows);
    bool over = snapshot->options.log_bound > 0 && bytes > snapshot->options.log_bound &&
                !tic_point_is_offered(&snapshot->point);

    if (over && !snapshot->cycle.over_bound)
        tic_log(TIC_LOG_WARN,
                "what main() has read makes %llu bytes (STARPU_TIC_LOG=%llu): no more checkpoints; "
                "starpu-tic explain log",
                (unsigned long long)bytes, (unsigned long long)snapshot->options.log_bound);
    snapshot->cycle.over_bound = over;
    return over;
}

/* So many results until a line lets those go that were overwritten. Where results are not used, and
 * lines wait until memory was compared, periods are enough. */
static void bound_results(struct tic_snapshot *snapshot)
{
    uint64_t left = tic_rows_left(&snapshot->store->rows);
    uint64_t least = snapshot->store->sync ? TIC_RESULTS_LEAST_SYNC : TIC_RESULTS_LEAST;

    if (snapshot->options.log_all && snapshot->verify.percent == 0)
        atomic_store_explicit(&snapshot->results.bytes_most, left > least ? left : least,
                              memory_order_relaxed);
}

/* A shutdown of StarPU does not wait meanwhile: no memory of the program is needed any more. */
static void set_committing(struct tic_snapshot *snapshot, bool committing)
{
    tic_lock(&snapshot->lock);
    snapshot->control.committing = committing;
    if (committing)
        pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}

/* What is saved, in memory or on the disk, becomes a line. 0 or -errno. */
static int store_line(struct tic_snapshot *snapshot, uint64_t cut)
{
    struct tic_line line = {0};
    int status = tic_snapshot_describe(snapshot, cut, &line);

    if (status == 0) /* else the index may lack some of them */
        unlist(snapshot, cut);
    /* What protection ends for may be missing in the line. */
    if (tic_snapshot_is_broken(snapshot))
        status = -ECANCELED;
    tic_cut_finish(&snapshot->cut);
    status = status ? status : tic_store_commit(snapshot->store, &line);
    tic_line_clear(&line);
    return status;
}

/* `begin`: of the cut; `bytes`: all that the run has written so far. */
static void trace_commit(const struct tic_snapshot *snapshot)
{
    const struct tic_line *line = &snapshot->store->kept[0];

    if (!tic_trace_is_on())
        return;
    tic_trace_put(
        "checkpoint", ", \"line\": %llu, \"begin\": %.6f, \"tasks_done\": %llu, \"bytes\": %llu",
        (unsigned long long)line->number, tic_trace_time(atomic_load(&snapshot->verify.cut_ns)),
        (unsigned long long)line->tasks_done,
        (unsigned long long)atomic_load(&snapshot->store->counts.bytes_written));
    tic_trace_wake(); /* a report that lacks it takes a crash for dearer than it was */
}

static int commit(struct tic_snapshot *snapshot, uint64_t cut)
{
    set_committing(snapshot, true);
    int status = store_line(snapshot, cut);
    set_committing(snapshot, false);
    if (status)
        return status;
    tic_eventlog_note_newest(&snapshot->log);
    if (snapshot->copier)
        tic_copier_offer(snapshot->copier, &snapshot->store->kept[0]);
    tic_index_committed(&snapshot->store->index, snapshot->store->keep);
    if (snapshot->cycle.of_point)
        tic_snapshot_note_point_line(snapshot);
    tic_snapshot_sweep(snapshot, cut);
    bound_results(snapshot);
    tic_graph_reclaim(snapshot->graph, cut);
    atomic_fetch_add_explicit(&snapshot->counts.checkpoints, 1, memory_order_relaxed);
    atomic_store_explicit(&snapshot->counts.committed_ns, tic_nanoseconds(CLOCK_MONOTONIC),
                          memory_order_relaxed);
    trace_commit(snapshot);
    tic_log(TIC_LOG_DETAIL, "checkpoint %llu: %llu tasks done",
            (unsigned long long)snapshot->store->kept[0].number,
            (unsigned long long)snapshot->store->kept[0].tasks_done);
    return 0;
}

/* ---- a checkpoint that fails ----------------------------------------------------------------- */

/* Values that are saved by now are as good for the next cut, the others stay dirty, and all stay
 * listed. */
static void give_up(struct tic_snapshot *snapshot, uint64_t cut)
{
    tic_cut_finish(&snapshot->cut);
    snapshot->cycle.given_up = cut;
    tic_snapshot_sweep(snapshot, 0);
}

/* Before the next cut is raised all tasks of the one given up have ended: their lists belong to
 * its epoch, and the next but one uses the same. */
static int settle_given_up(struct tic_snapshot *snapshot)
{
    uint64_t cut = snapshot->cycle.given_up;

    if (cut == 0)
        return 0;
    while (!tic_cut_has_ended(&snapshot->cut, cut))
        if (pause_for_tasks(snapshot) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
    int status = gather_dirty(snapshot, cut);
    status = status ? status : tic_snapshot_merge_done(snapshot, cut);
    if (status == 0)
        snapshot->cycle.given_up = 0;
    return status;
}

/* ---- a checkpoint ---------------------------------------------------------------------------- */

/* Saves what is dirty, and waits until main() cannot be writing any of it. */
static int settle(struct tic_snapshot *snapshot)
{
    struct tic_handle_list *list = &snapshot->verify.list;
    uint64_t epoch = atomic_load(&snapshot->cut.epoch);

    atomic_store(&snapshot->verify.settling, true);
    int status = tic_verify_list(snapshot);
    unsigned long left = list->count;
    status = status ? status : tic_save_pass(snapshot, list->items, epoch, &left);
    return status ? status : tic_verify_await_operation(snapshot);
}

static int save_cut(struct tic_snapshot *snapshot, uint64_t *cut)
{
    int status = take_cut(snapshot, cut);

    status = status ? status : save_all(snapshot, *cut);
    return status ? status : tic_snapshot_merge_done(snapshot, *cut);
}

/* All of memory was looked at, and nobody can change it. */
static int save_quiescent_cut(struct tic_snapshot *snapshot, uint64_t *cut)
{
    int status = tic_verify_begin_calm(snapshot);

    status = status ? status : save_cut(snapshot, cut);
    for (unsigned long i = 0; status == 0 && i < snapshot->verify.list.count; i++)
        atomic_store(&snapshot->verify.list.items[i]->saving.checked, *cut);
    if (status == 0 && !tic_verify_is_calm(snapshot))
        status = -ESTALE;
    tic_verify_end_calm(snapshot);
    return status;
}

static int save_verified_cut(struct tic_snapshot *snapshot, uint64_t *cut)
{
    int status = settle(snapshot);

    status = status ? status : save_cut(snapshot, cut);
    status = status ? status : tic_verify_await_callbacks(snapshot, *cut);
    status = status ? status : tic_verify_cut(snapshot, *cut);
    atomic_store(&snapshot->verify.settling, false);
    return status;
}

/* main() waits at a commit point, and no task runs. Where memory is compared main() stays until all
 * is saved: it cannot be writing any of it. */
static int save_point_cut(struct tic_snapshot *snapshot, uint64_t *cut)
{
    bool quiescent = atomic_load(&snapshot->verify.quiescent);

    tic_snapshot_forget_history(snapshot);
    if (quiescent)
        return tic_snapshot_end_point(snapshot, save_quiescent_cut(snapshot, cut));
    int status = take_cut(snapshot, cut);
    if (snapshot->verify.percent == 0)
        status = tic_snapshot_end_point(snapshot, status);
    status = status ? status : save_all(snapshot, *cut);
    status = status ? status : tic_snapshot_merge_done(snapshot, *cut);
    if (snapshot->verify.percent > 0)
        status = tic_snapshot_end_point(snapshot, status);
    return status || snapshot->verify.percent == 0 ? status : tic_verify_cut(snapshot, *cut);
}

static int save(struct tic_snapshot *snapshot, uint64_t *cut)
{
    set_phase(snapshot, TIC_PHASE_SAVING);
    atomic_store(&snapshot->verify.differs, false);
    if (snapshot->cycle.of_point)
        return save_point_cut(snapshot, cut);
    if (snapshot->verify.percent == 0)
        return save_cut(snapshot, cut);
    return atomic_load(&snapshot->verify.quiescent) ? save_quiescent_cut(snapshot, cut)
                                                    : save_verified_cut(snapshot, cut);
}

static int run(struct tic_snapshot *snapshot)
{
    uint64_t cut = 0;

    snapshot->cycle.of_point = tic_point_is_offered(&snapshot->point);
    if (!snapshot->cycle.of_point && !tic_point_has_history(&snapshot->point))
        return -ESTALE; /* main() has gone on */
    set_phase(snapshot, TIC_PHASE_PROVIDING);
    int status = settle_given_up(snapshot);
    status = status ? status : tic_space_bound(snapshot->store);
    if (status == 0)
        tic_snapshot_move_values(snapshot);
    status = status ? status : tic_provide_rows(snapshot);
    status = status ? status : tic_window_open(snapshot);
    status = status ? status : save(snapshot, &cut);
    tic_window_close(snapshot);
    status = status ? status : tic_snapshot_await_late(snapshot);
    if (status == 0) {
        tic_printed_flush_for_line(snapshot->cycle.of_point);
        TIC_LINT(look, false);
        tic_failpoint(TIC_FAIL_CHECKPOINT_SAVED);
        set_phase(snapshot, TIC_PHASE_COMMITTING);
        status = commit(snapshot, cut);
    }
    if (status && cut != 0)
        give_up(snapshot, cut);
    if (status == -EDQUOT || status == -ENOSPC)
        tic_compact_trim(snapshot->store);
    return status;
}

/* Times that a cut is taken anew when main() may have been writing what was saved. */
enum { MOST_TRIES = 10 };

static int try_until_sure(struct tic_snapshot *snapshot)
{
    int status = run(snapshot);

    for (int tries = 1; status == -ESTALE && tries < MOST_TRIES && !snapshot->ranks &&
                        !snapshot->cycle.of_point && tic_point_has_history(&snapshot->point);
         tries++) {
        set_phase(snapshot, TIC_PHASE_IDLE);
        status = tic_snapshot_pause(snapshot, CUT_POLL) ? -ECANCELED : run(snapshot);
    }
    return status;
}

/* Before all recovered values are back there is nothing new, and memory may hold older ones; before
 * main() has come as far as by the recovered cut a line would have a history of what comes later;
 * before the first operation of main() a restart could not give values back. */
static bool may_be_taken(struct tic_snapshot *snapshot)
{
    const struct tic_graph *graph = snapshot->graph;
    const uint64_t position = atomic_load(&graph->position);

    tic_lock(&snapshot->graph->lock);
    bool any = graph->handle_count > 0;
    tic_unlock(&snapshot->graph->lock);
    return !atomic_load(&snapshot->replaying) && !atomic_load(&snapshot->point.resumes) &&
           position >= graph->recovered.position &&
           (snapshot->verify.percent == 0 || !any || position > 0);
}

/* main() has not begun one, and tasks run. */
static void tell_if_late(struct tic_snapshot *snapshot)
{
    if (!snapshot->options.dry && !atomic_load(&snapshot->replaying) &&
        atomic_load(&snapshot->graph->position) == 0 && tic_cut_count_executed(&snapshot->cut) > 0)
        tic_verify_tell_late(snapshot, snapshot->started_ns);
}

static int run_alone(struct tic_snapshot *snapshot)
{
    /* Even if none can be taken: as much again must come before the next is tried for that. */
    tic_reuse_begin_volume(&snapshot->results.reuse);
    snapshot->cycle.logged_before =
        atomic_load_explicit(&snapshot->log.bytes, memory_order_relaxed);
    bool news = has_news(snapshot) || snapshot->ranks; /* others may have some */
    if (snapshot->options.dry || !may_be_taken(snapshot) || !news || is_over_bound(snapshot)) {
        tell_if_late(snapshot);
        return 1;
    }
    tic_failpoint(TIC_FAIL_CHECKPOINT_BEGIN);
    snapshot->cycle.waited_ns = 0;
    tic_faults_begin();
    int status = try_until_sure(snapshot);
    tic_faults_end();
    if (status < 0) {
        snapshot->cycle.executed_before = UINT64_MAX; /* it is still to be saved */
        if (status != -ECANCELED && status != -ESTALE)
            atomic_fetch_add_explicit(&snapshot->counts.failures, 1, memory_order_relaxed);
    }
    if (status == -ESTALE)
        status = 1; /* the next one may be sure */
    if (status == -EINVAL)
        tic_snapshot_break(snapshot, "internal error: a value of the cut is missing");
    else if (status == -ENOTRECOVERABLE)
        tic_snapshot_lose_files(snapshot);
    set_phase(snapshot, TIC_PHASE_IDLE);
    return status;
}

int tic_checkpoint_run(struct tic_snapshot *snapshot)
{
    if (!snapshot->ranks)
        return run_alone(snapshot);
    if (!tic_snapshot_begin_line(snapshot))
        return 1;
    int status = run_alone(snapshot);
    snapshot->ranks->end(status ? "it cannot take one now" : NULL);
    return status;
}
