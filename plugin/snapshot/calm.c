/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory is compared with the values of a whole cut; quiescent lines. */
#include <errno.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "graph/family.h"
#include "snapshot/provide.h"
#include "snapshot/save.h"
#include "snapshot/snapshot.h"
#include "snapshot/verify.h"

enum { HANDLES_AT_ONCE = 1024 };
enum { LATE = 10, LATE_PERIODS = 10 }; /* seconds; both: without a line until that is said */
#define POLL 0.001                     /* seconds */

int tic_verify_list(struct tic_snapshot *snapshot)
{
    struct tic_graph *graph = snapshot->graph;
    struct tic_handle_list *list = &snapshot->verify.list;
    unsigned long count = 1;
    bool fine = true;

    list->count = 0;
    for (unsigned long i = 0; i < count && fine;) {
        tic_lock(&graph->lock);
        count = graph->handle_count;
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < count && fine; n++, i++)
            if (graph->handles[i]->imaged && graph->handles[i]->listing.gone_since == 0)
                fine = tic_handle_append(list, graph->handles[i]);
        tic_unlock(&graph->lock);
    }
    return fine ? 0 : -ENOMEM;
}

struct pass {
    struct tic_snapshot *snapshot;
    uint64_t cut;
    void (*visit)(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                  bool stale);
};

/* Handles are freed by the checkpoint thread only; their memory is main()'s once they have gone,
 * and main() takes their lock in between. */
static void visit_one(void *arg, unsigned long i)
{
    const struct pass *pass = arg;
    struct tic_snapshot *snapshot = pass->snapshot;
    struct tic_handle *handle = snapshot->verify.list.items[i];
    bool stale = tic_family_is_stale(snapshot->graph, handle);

    if (!tic_save_lock(snapshot, handle, UINT64_MAX))
        return;
    pass->visit(snapshot, handle, pass->cut, stale);
    tic_unlock(&handle->saving.lock);
}

static void serve_meanwhile(void *arg)
{
    const struct pass *pass = arg;

    tic_snapshot_serve_requests(pass->snapshot);
}

static void note_rest(struct tic_snapshot *snapshot, uint64_t spent)
{
    struct tic_verify *verify = &snapshot->verify;

    verify->rest_ns = spent * 100 / (verify->percent * tic_thread_processors());
}

/* 0 or -ENOMEM. */
static int visit_all(struct pass *pass)
{
    struct tic_verify *verify = &pass->snapshot->verify;
    uint64_t before = atomic_load_explicit(&verify->sums.ns, memory_order_relaxed);
    int status = tic_verify_list(pass->snapshot);

    if (status)
        return status;
    tic_pool_run(&pass->snapshot->cycle.savers, verify->list.count, visit_one, serve_meanwhile,
                 pass);
    note_rest(pass->snapshot,
              atomic_load_explicit(&verify->sums.ns, memory_order_relaxed) - before);
    return 0;
}

/* The next cut is to look at them. */
static int list_changed(struct tic_snapshot *snapshot)
{
    struct tic_handle_list *list = &snapshot->verify.list;
    bool fine = true;

    for (unsigned long i = 0; i < list->count && fine;) {
        tic_lock(&snapshot->graph->lock);
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < list->count && fine; n++, i++)
            if (atomic_load(&list->items[i]->saving.dirty_since) != 0)
                fine = tic_graph_note_changed_locked(snapshot->graph, list->items[i]);
        tic_unlock(&snapshot->graph->lock);
    }
    return fine ? 0 : -ENOMEM;
}

int tic_verify_cut(struct tic_snapshot *snapshot, uint64_t cut)
{
    struct tic_verify *verify = &snapshot->verify;
    struct pass pass = {snapshot, cut, tic_verify_check_locked};
    int status = visit_all(&pass);

    if (status)
        return status;
    tic_failpoint(TIC_FAIL_LINE_VERIFIED);
    if (!atomic_exchange(&verify->differs, false) && atomic_load(&verify->unsure_cut) < cut)
        return 0;
    atomic_fetch_add_explicit(&verify->repeated, 1, memory_order_relaxed);
    status = list_changed(snapshot);
    return status ? status : -ESTALE;
}

double tic_verify_rest(const struct tic_snapshot *snapshot, double since)
{
    double rest = (double)snapshot->verify.rest_ns * 1e-9 - since;

    return rest > 0 ? rest : 0;
}

void tic_verify_tell_late(struct tic_snapshot *snapshot, uint64_t since)
{
    double waited = (double)(tic_nanoseconds(CLOCK_MONOTONIC) - since) * 1e-9;

    if (snapshot->verify.told_late || waited < LATE || waited < LATE_PERIODS * snapshot->period)
        return;
    snapshot->verify.told_late = true;
    tic_log(TIC_LOG_WARN,
            "no recovery line can be taken, for %.0f seconds now: main() waits outside StarPU; "
            "starpu-tic explain no-line",
            waited);
}

int tic_verify_await_operation(struct tic_snapshot *snapshot)
{
    const struct tic_verify *verify = &snapshot->verify;
    const struct tic_graph *graph = snapshot->graph;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    /* While main() is inside a call, it has been there since before the save: it begins an
     * operation before it counts as inside. */
    while (atomic_load(&verify->suspect) > 0 &&
           atomic_load(&graph->position) <= atomic_load(&verify->suspect) &&
           (atomic_load(&graph->calls) & 1) == 0) {
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
        tic_verify_tell_late(snapshot, start);
    }
    return 0;
}

static bool runs_callback(const struct tic_snapshot *snapshot, uint64_t cut)
{
    bool runs = false;

    tic_lock(&snapshot->graph->lock);
    for (const struct tic_running_callback *each = snapshot->verify.callbacks; each && !runs;
         each = each->next)
        runs = each->epoch <= cut;
    tic_unlock(&snapshot->graph->lock);
    return runs;
}

int tic_verify_await_callbacks(struct tic_snapshot *snapshot, uint64_t cut)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    while (runs_callback(snapshot, cut)) {
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
        tic_verify_tell_late(snapshot, start);
    }
    return 0;
}

/* A callback that is still to come, or runs, may write. */
static bool is_idle(struct tic_snapshot *snapshot)
{
    return tic_cut_is_idle(&snapshot->cut) && atomic_load(&snapshot->graph->callbacks_open) == 0;
}

/* True when main() is inside a call and will stay there. */
static bool try_hold(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool inside = (atomic_load(&snapshot->graph->calls) & 1) != 0;
    snapshot->verify.calm = inside ? TIC_CALM_HELD : TIC_CALM_WANTED;
    tic_unlock(&snapshot->lock);
    return inside;
}

bool tic_verify_is_calm(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool held = snapshot->verify.calm == TIC_CALM_HELD;
    tic_unlock(&snapshot->lock);
    return held;
}

static int await_idle(struct tic_snapshot *snapshot)
{
    uint64_t end = tic_nanoseconds(CLOCK_MONOTONIC) + (uint64_t)(snapshot->options.patience * 1e9);

    while (!is_idle(snapshot)) {
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
        if (tic_nanoseconds(CLOCK_MONOTONIC) > end || !tic_verify_is_calm(snapshot))
            return -ESTALE;
    }
    return 0;
}

/* The memory counts, whatever was saved of it; but for what main() writes in an access, and makes
 * again in a restart. */
static void take_as_it_is(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                          bool stale)
{
    uint64_t sum;

    if (atomic_load(&handle->saving.dirty_since) != 0 || atomic_load(&handle->saving.split) ||
        handle->saving.current.awaits_main ||
        !tic_sums_take(&snapshot->verify.sums, handle, &sum) ||
        (!stale && handle->saving.current.exists && sum == handle->saving.current.saved.checksum))
        return;
    tic_handle_count_change(handle); /* later than its parts */
    atomic_store(&handle->saving.dirty_since, cut);
}

static int collect(struct tic_snapshot *snapshot)
{
    struct pass pass = {snapshot, atomic_load(&snapshot->cut.epoch), take_as_it_is};
    int status = visit_all(&pass);

    return status ? status : list_changed(snapshot);
}

int tic_verify_begin_calm(struct tic_snapshot *snapshot)
{
    struct tic_verify *verify = &snapshot->verify;
    int status = 0;

    if (tic_nanoseconds(CLOCK_MONOTONIC) < verify->calm_after_ns)
        return -ESTALE;
    while (!try_hold(snapshot))
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    atomic_store(&verify->closed, true);
    /* An access of main() was noted before this, or comes after the line. */
    tic_lock(&snapshot->graph->lock);
    tic_unlock(&snapshot->graph->lock);
    status = await_idle(snapshot);
    if (status == -ESTALE) /* the program stood still for nothing */
        verify->calm_after_ns = tic_nanoseconds(CLOCK_MONOTONIC) +
                                (tic_nanoseconds(CLOCK_MONOTONIC) - start) * 100 / verify->percent;
    if (status == -ESTALE && !verify->told_calm)
        tic_log(TIC_LOG_WARN, "tasks that run do not end while no other begins: a quiescent "
                              "recovery line is put off");
    verify->told_calm |= status == -ESTALE;
    return status ? status : collect(snapshot);
}

void tic_verify_end_calm(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    atomic_store(&snapshot->verify.closed, false);
    snapshot->verify.calm = TIC_CALM_NO;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}
