/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint thread: when it works, how it is asked, how it ends. */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/io.h"
#include "base/thread.h"
#include "snapshot/copier.h"
#include "snapshot/forced.h"
#include "snapshot/provide.h"
#include "snapshot/suspend.h"
#include "store/held.h"

/* Lines that the log can extend: seconds between looks for one, at least between two, and times
 * what one takes. */
#define EXTENSION_POLL 0.02
#define EXTENSION_REST 0.1
enum { EXTENSION_FIRST = 2, EXTENSION_SHARE = 20 };
enum { MOST_SAVERS = 4 }; /* more do not make a file system faster */

int tic_snapshot_init(struct tic_snapshot *snapshot, struct tic_graph *graph,
                      struct tic_store *store, unsigned workers)
{
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->graph = graph;
    snapshot->store = store;
    snapshot->period = 10;
    snapshot->options.patience = 10;
    snapshot->options.copy_newest = -1;
    snapshot->options.keep_lines = TIC_KEPT_DEFAULT;
    tic_lock_init(&snapshot->lock, TIC_RANK_CHECKPOINT);
    tic_cond_init(&snapshot->wake);
    tic_cond_init(&snapshot->served);
    snapshot->options.periodic = true;
    tic_reuse_init(&snapshot->results.reuse);
    int status = tic_eventlog_init(&snapshot->log, store, workers + 1, TIC_MAX_WORKERS);
    return status ? status : tic_cut_init(&snapshot->cut, workers);
}

void tic_snapshot_fini(struct tic_snapshot *snapshot)
{
    tic_cut_fini(&snapshot->cut);
    tic_line_clear(&snapshot->about);
    free(snapshot->cycle.due.items);
    free(snapshot->cycle.shapes.items);
    free(snapshot->verify.list.items);
    free(snapshot->cycle.blocks);
    free(snapshot->results.kept);
    tic_reuse_fini(&snapshot->results.reuse);
    tic_eventlog_fini(&snapshot->log);
    tic_snapshot_forget_forced(snapshot);
    tic_point_free(&snapshot->point);
    pthread_cond_destroy(&snapshot->wake);
    pthread_cond_destroy(&snapshot->served);
    tic_lock_fini(&snapshot->lock);
}

static struct timespec at(uint64_t nanoseconds)
{
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / 1000000000u),
                             .tv_nsec = (long)(nanoseconds % 1000000000u)};
}

/* Are lines taken every period? SEL does without, but for the first line, as long as its log holds
 * all results. */
static bool is_periodic(struct tic_snapshot *snapshot)
{
    return snapshot->options.periodic || atomic_load(&snapshot->results.needs_lines) ||
           atomic_load(&snapshot->extension.on) || snapshot->store->kept_count == 0;
}

/* Where no line is taken, nobody else would notice. */
static void look_for_files(struct tic_snapshot *snapshot)
{
    if (!tic_snapshot_is_broken(snapshot) && tic_store_is_moved(snapshot->store))
        tic_snapshot_suspend_once(snapshot, -ENOENT);
    else if (tic_snapshot_is_broken(snapshot) ||
             (tic_store_is_there(snapshot->store) && tic_eventlog_is_there(&snapshot->log)))
        return;
    tic_snapshot_lose_files(snapshot);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* For how long nobody need look, in seconds: the log may not wait longer for the disk, nor for a
 * line that it can extend. 0: for any time. */
static double longest_rest(const struct tic_snapshot *snapshot)
{
    double sync = (double)snapshot->options.sync_ns * 1e-9;

    if (!atomic_load(&snapshot->extension.on))
        return sync;
    return sync > 0 && sync < EXTENSION_POLL ? sync : EXTENSION_POLL;
}

/* Waits for a wake-up, at most until then, and no longer than that. True when it is then. */
static bool wait_until(struct tic_snapshot *snapshot, const struct timespec *until)
{
    double rest = longest_rest(snapshot);
    struct timespec soon = tic_after(rest);
    bool first = rest > 0 && is_before(&soon, until);

    return pthread_cond_timedwait(&snapshot->wake, &snapshot->lock.mutex, first ? &soon : until) ==
               ETIMEDOUT &&
           !first;
}

static double seconds_since(uint64_t nanoseconds)
{
    return (double)(tic_nanoseconds(CLOCK_MONOTONIC) - nanoseconds) * 1e-9;
}

/* While an image of the process is there, each page that the program changes is copied for it; and
 * what else waits in memory is written if it is much. True when there is something to do again. */
static bool drain_locked(struct tic_snapshot *snapshot) TIC_REQUIRES(snapshot->lock)
{
    struct tic_store *store = snapshot->store;

    if (snapshot->control.stopping || tic_snapshot_is_broken(snapshot))
        return false;
    bool writes = snapshot->control.retry_ns == 0;
    tic_unlock(&snapshot->lock);
    int status = tic_held_copy_images(&store->rows, &store->hurry);
    if (status == 0 && writes)
        status = tic_held_write_some(store);
    if (status == -ESRCH)
        tic_snapshot_break(snapshot, TIC_LOST_IMAGE);
    tic_lock(&snapshot->lock);
    return status > 0 ||
           (status == -ECANCELED && (snapshot->control.requests || snapshot->control.log_wanted));
}

/* SEL for tasks of kernels goes on from lines that are taken while main() waits. Where it waits
 * often, they cost no more than a small part of the time; the first comes soon. */
static bool is_due_to_extend(struct tic_snapshot *snapshot, uint64_t begun_ns)
{
    const struct tic_store *store = snapshot->store;
    const struct tic_line *newest = store->kept_count > 0 ? &store->kept[0] : NULL;
    double since = seconds_since(begun_ns);

    if (!newest)
        return false;
    double cost =
        (double)atomic_load_explicit(&snapshot->pace.cost_ns, memory_order_relaxed) * 1e-9;
    double least =
        newest->log.tick == 0 ? EXTENSION_FIRST * cost : EXTENSION_REST + EXTENSION_SHARE * cost;
    return since >= least && tic_extension_wants_line(&snapshot->extension, snapshot->graph, newest,
                                                      snapshot->cycle.committed);
}

/* Sleeps until a checkpoint is due; serves row requests. False when the thread must end: then a
 * checkpoint that is due by its count is still taken, so that counts are kept to the end. */
static bool wait_until_due(struct tic_snapshot *snapshot, uint64_t begun_ns)
{
    double since = seconds_since(begun_ns);
    double wait = tic_checkpoint_wait(snapshot->period, snapshot->pace.took, since);
    double rest = tic_verify_rest(snapshot, since);
    struct timespec period = tic_after(wait > rest ? wait : rest);
    bool due =
        snapshot->options.log_all && snapshot->store->kept_count == 0 && !snapshot->cycle.began;

    snapshot->cycle.began = true;
    tic_lock(&snapshot->lock);
    for (;;) {
        if (snapshot->control.requests || snapshot->control.log_wanted ||
            snapshot->options.sync_ns > 0) {
            tic_unlock(&snapshot->lock);
            tic_snapshot_serve_requests(snapshot);
            tic_snapshot_sync_log(snapshot);
            tic_lock(&snapshot->lock);
            if (snapshot->control.requests || snapshot->control.log_wanted)
                continue;
        }
        if (drain_locked(snapshot))
            continue;
        if (snapshot->control.stopping && snapshot->control.retry_ns)
            due = false; /* no more trials than those that are due by their count */
        due = due ||
              (!snapshot->control.hurry &&
               tic_snapshot_count(snapshot) > snapshot->control.counted) ||
              ((snapshot->control.requested || tic_snapshot_is_log_large(snapshot) ||
                is_due_to_extend(snapshot, begun_ns)) &&
               !snapshot->control.stopping);
        if (snapshot->control.stopping ||
            (due && tic_snapshot_may_try_locked(snapshot) &&
             tic_point_may_begin_locked(&snapshot->point,
                                        snapshot->control.requested ? 0 : snapshot->period / 2)))
            break;
        struct timespec until =
            snapshot->control.retry_ns ? at(snapshot->control.retry_ns) : period;
        if (wait_until(snapshot, &until)) {
            due = snapshot->control.retry_ns || is_periodic(snapshot);
            period = tic_after(snapshot->period);
            tic_unlock(&snapshot->lock);
            if (!due)
                look_for_files(snapshot);
            tic_lock(&snapshot->lock);
        }
    }
    snapshot->control.requested = false;
    snapshot->control.tries_begun++;
    tic_unlock(&snapshot->lock);
    return due;
}

static void note_tried(struct tic_snapshot *snapshot, int status)
{
    tic_lock(&snapshot->lock);
    snapshot->control.tries_ended = snapshot->control.tries_begun;
    snapshot->control.tried = status;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}

/* SEL: without a line the log means nothing. Owner thread. */
static void await_first(struct tic_snapshot *snapshot)
{
    struct timespec until = tic_after(snapshot->options.patience);

    tic_lock(&snapshot->lock);
    while (snapshot->control.tries_ended == 0 && !snapshot->control.exited &&
           tic_snapshot_await_locked(snapshot, &until))
        ;
    bool silent = snapshot->control.tries_ended == 0 && !snapshot->control.exited;
    snapshot->control.silent |= silent;
    tic_unlock(&snapshot->lock);
    if (silent)
        tic_snapshot_suspend_once(snapshot, -ETIME);
}

/* How many threads may save values beside this one. */
static unsigned count_helpers(void)
{
    unsigned count = tic_thread_processors();

    return (count < MOST_SAVERS ? count : MOST_SAVERS) - 1;
}

static struct tic_pace_reading read_pace(const struct tic_snapshot *snapshot)
{
    uint64_t ours = tic_thread_processor_time(), all = tic_nanoseconds(CLOCK_PROCESS_CPUTIME_ID);

    return (struct tic_pace_reading){
        .now = tic_nanoseconds(CLOCK_MONOTONIC),
        .held = tic_cut_held_time(&snapshot->cut),
        .main_held = atomic_load_explicit(&snapshot->pace.main_held_ns, memory_order_relaxed),
        .processor = ours,
        .others = all - ours};
}

/* A checkpoint, and what it cost. As tic_checkpoint_run. */
static int run_measured(struct tic_snapshot *snapshot)
{
    struct tic_pace_reading reading = read_pace(snapshot);

    tic_pace_begin(&snapshot->pace, &reading);
    int status = tic_checkpoint_run(snapshot);
    if (status == 0) {
        reading = read_pace(snapshot);
        tic_pace_end(&snapshot->pace, &reading, atomic_load(&snapshot->verify.cut_ns),
                     snapshot->cycle.waited_ns, snapshot->period, (unsigned)snapshot->about.workers,
                     tic_thread_processors());
        snapshot->period = tic_pace_choose(&snapshot->pace, snapshot->period);
    }
    return status;
}

/* main() goes on from its commit point, whatever came of the line; it comes to no other before. */
static void end_point(struct tic_snapshot *snapshot)
{
    if (!snapshot->cycle.of_point && !tic_point_is_offered(&snapshot->point))
        return;
    snapshot->cycle.of_point = false;
    tic_snapshot_end_point(snapshot, 0);
    tic_point_drop(&snapshot->point);
}

static void *checkpoint_thread(void *arg)
{
    struct tic_snapshot *snapshot = arg;
    uint64_t begun = tic_nanoseconds(CLOCK_MONOTONIC);

    pthread_setname_np(pthread_self(), "tic-checkpoint");
    tic_pool_init(&snapshot->cycle.savers, count_helpers());
    /* Here, as no signal comes to this thread, also none of a limit to the size of files. */
    int status = snapshot->options.log_all ? tic_eventlog_provide(&snapshot->log) : 0;
    if (status)
        tic_snapshot_suspend(snapshot, status);
    while (wait_until_due(snapshot, begun)) {
        uint64_t count = tic_snapshot_count(snapshot);
        begun = tic_nanoseconds(CLOCK_MONOTONIC);
        status = tic_snapshot_is_broken(snapshot) ? 0 : run_measured(snapshot);
        tic_snapshot_note_counted(snapshot, count);
        end_point(snapshot);
        note_tried(snapshot, status);
        if (status == 0 && !tic_snapshot_is_broken(snapshot))
            tic_snapshot_resume(snapshot);
        else if (status < 0 && status != -ECANCELED && !tic_snapshot_is_broken(snapshot))
            tic_snapshot_suspend(snapshot, status);
        else
            tic_snapshot_put_off(snapshot);
    }
    tic_cut_finish(&snapshot->cut); /* of a checkpoint that was given up */
    tic_pool_fini(&snapshot->cycle.savers);
    tic_lock(&snapshot->lock);
    snapshot->control.exited = true;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
    tic_snapshot_serve_requests(snapshot);
    return NULL;
}

static void start_copier(struct tic_snapshot *snapshot)
{
    if (!snapshot->options.copy || snapshot->options.dry || snapshot->copier)
        return;
    snapshot->copier =
        tic_copier_start(snapshot->store, snapshot->options.copy, snapshot->options.copy_newest);
    if (!snapshot->copier)
        tic_log(TIC_LOG_WARN, "recovery lines are not copied to %s: no memory, or no thread",
                snapshot->options.copy);
}

int tic_snapshot_begin(struct tic_snapshot *snapshot)
{
    start_copier(snapshot);
    if (!snapshot->options.endless)
        tic_io_start(snapshot->options.patience); /* else calls may hang */
    if (snapshot->started_ns == 0)
        snapshot->started_ns = tic_verify_begin_period(snapshot);
    /* StarPU has stopped meanwhile: what it ran has ended. */
    int status = tic_cut_start(&snapshot->cut, (unsigned)snapshot->about.workers);
    if (status)
        return status;
    snapshot->control.stopping = snapshot->control.hurry = snapshot->control.exited =
        false; /* it may have run before */
    atomic_store(&snapshot->store->hurry, false);
    snapshot->control.retry_ns = 0;
    tic_protection_move(&snapshot->protection, TIC_PROTECTION_ACTIVE);
    tic_pace_resume(&snapshot->pace, snapshot->recovery.earlier.cost,
                    snapshot->recovery.earlier.latency);
    snapshot->period = tic_pace_choose(&snapshot->pace, snapshot->period);
    bool waits =
        snapshot->options.log_all && snapshot->store->kept_count == 0 && !snapshot->cycle.began;
    status = tic_thread_start(&snapshot->thread, checkpoint_thread, snapshot);
    snapshot->started = status == 0;
    if (waits && status == 0)
        await_first(snapshot);
    return status;
}
