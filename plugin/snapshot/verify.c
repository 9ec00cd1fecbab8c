/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does memory hold what StarPU knows? */
#include "snapshot/verify.h"

#include <errno.h>
#include <sched.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/names.h"
#include "base/thread.h"
#include "graph/family.h"
#include "snapshot/save.h"
#include "snapshot/snapshot.h"

enum { HANDLES_AT_ONCE = 1024 };
enum { MOST_REFILLS = 3 }; /* times that main() may fill data that no task has mentioned yet */
enum { LATE = 10, LATE_PERIODS = 10 }; /* seconds; both: without a line until that is said */
#define POLL 0.001                     /* seconds */

/* ---- one datum ------------------------------------------------------------------------------- */

static void tell_difference(struct tic_snapshot *snapshot, const struct tic_handle *handle)
{
    struct tic_verify *verify = &snapshot->verify;

    atomic_fetch_add_explicit(&verify->differences, 1, memory_order_relaxed);
    atomic_store(&verify->differs, true);
    if (tic_snapshot_is_broken(snapshot)) /* what ended protection has been said */
        return;
    if (atomic_exchange(&verify->quiescent, true))
        return;
    bool used = atomic_load_explicit(&handle->mentioned, memory_order_relaxed);
    tic_log(
        TIC_LOG_WARN,
        "data %llu%s (number of registration, %llu bytes) changed behind StarPU's back: main() or "
        "a task writes it without declaring that. Protection goes on with recovery lines that "
        "are taken only while no task runs and main() waits in StarPU. More frequent ones need "
        "starpu_data_acquire around what main() does, or the data among the handles of the "
        "task; `starpu-tic check` tells where main() does it%s",
        (unsigned long long)handle->id, tic_name_of(handle->id),
        (unsigned long long)tic_shape_bytes(&handle->layout.shape),
        used ? ""
             : ". No task has used it: if the program has given its memory back (free), set "
               "STARPU_TIC_UNUSED=leave for a restart");
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
    uint64_t now = atomic_load(most);

    while (now < value && !atomic_compare_exchange_weak(most, &now, value))
        ;
}

static void doubt(struct tic_snapshot *snapshot, uint64_t cut)
{
    if (cut != 0)
        raise_to(&snapshot->verify.unsure_cut, cut);
    raise_to(&snapshot->verify.suspect, atomic_load(&snapshot->graph->position));
}

void tic_verify_note_saved_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                  const struct tic_saved *saved, uint64_t calls)
{
    atomic_thread_fence(memory_order_acquire); /* the value was read before what follows */
    uint64_t now = atomic_load(&snapshot->graph->calls);
    uint64_t version = atomic_load_explicit(&handle->version, memory_order_relaxed);
    bool inside = now == calls && (now & 1) != 0;

    if (!handle->imaged)
        return;
    if (handle->result.version == version + 1 &&
        !atomic_load_explicit(&handle->shares, memory_order_acquire)) { /* others do not count it */
        if (handle->result.hash != saved->checksum)
            tell_difference(snapshot, handle);
    } else if (!inside && atomic_load_explicit(&handle->written_in, memory_order_relaxed) !=
                              tic_graph_knowledge(snapshot->graph)) {
        doubt(snapshot, atomic_load(&snapshot->cut.active_cut));
    }
}

void tic_verify_note_result(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t version = atomic_load_explicit(&handle->version, memory_order_relaxed);

    if (!handle->imaged || atomic_load_explicit(&handle->shares, memory_order_relaxed) ||
        atomic_load_explicit(&handle->writers, memory_order_acquire) != 1)
        return;
    uint64_t sum;
    if (!tic_sums_take_used(&snapshot->verify.sums, handle, &sum))
        return;
    tic_lock(&handle->lock);
    /* A later writer counts itself before its kernel begins. */
    if (atomic_load_explicit(&handle->version, memory_order_acquire) == version &&
        atomic_load(&handle->dirty_since) != 0) {
        handle->result.hash = sum;
        handle->result.version = version + 1;
    }
    tic_unlock(&handle->lock);
}

/* ---- main() comes back from a wait ---------------------------------------------------------- */

/* What main() may change from now on: of values that no line has, the hash is known then. What no
 * task has mentioned is being filled. */
static void note_exposed_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t version = atomic_load_explicit(&handle->version, memory_order_relaxed);

    if (atomic_load_explicit(&handle->shares, memory_order_relaxed) ||
        atomic_load(&handle->writers) != 0 || atomic_load(&handle->split) ||
        handle->result.version == version + 1 ||
        !atomic_load_explicit(&handle->mentioned, memory_order_relaxed) ||
        !tic_sums_take(&snapshot->verify.sums, handle, &handle->result.hash))
        return;
    handle->result.version = version + 1;
}

uint64_t tic_verify_begin_period(struct tic_snapshot *snapshot)
{
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);

    atomic_store(&snapshot->verify.cut_ns, now);
    return now;
}

/* main() may stay away for long, and no line could be taken meanwhile. This costs it no more than
 * its share of the time since the last line. */
static bool may_hash_exposed(struct tic_snapshot *snapshot, uint64_t now)
{
    struct tic_verify *verify = &snapshot->verify;
    uint64_t since = now - atomic_load(&verify->cut_ns);

    return (atomic_load(&verify->settling) || snapshot->options.every > 0 ||
            (double)since * 1e-9 > snapshot->period / 2) &&
           !atomic_load(&verify->quiescent) &&
           verify->exposed_ns * 100 <= (now - snapshot->started_ns) * verify->percent;
}

static void hash_exposed(struct tic_snapshot *snapshot)
{
    struct tic_graph *graph = snapshot->graph;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    unsigned long count = 1;

    if (!may_hash_exposed(snapshot, start))
        return;
    for (unsigned long i = 0; i < count; i++) { /* only this thread and reclaim change the list */
        tic_lock(&graph->lock);
        count = graph->handle_count;
        struct tic_handle *handle = i < count ? graph->handles[i] : NULL;
        bool due = handle && handle->imaged && handle->gone_since == 0 &&
                   atomic_load(&handle->dirty_since) != 0;
        if (due)
            tic_lock(&handle->lock);
        tic_unlock(&graph->lock);
        if (due) {
            note_exposed_locked(snapshot, handle);
            tic_unlock(&handle->lock);
        }
    }
    snapshot->verify.exposed_ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
}

/* Its content is what main() put there before a task mentioned it: main() may go on with that. */
static bool is_being_filled(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (atomic_load_explicit(&handle->mentioned, memory_order_relaxed) ||
        handle->refills >= MOST_REFILLS)
        return false;
    handle->refills++;
    raise_to(&snapshot->verify.unsure_cut, atomic_load(&snapshot->cut.active_cut));
    return true;
}

bool tic_verify_is_same_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t sum;

    return !handle->imaged || !handle->current.exists ||
           atomic_load_explicit(&handle->split, memory_order_relaxed) ||
           !tic_sums_take(&snapshot->verify.sums, handle, &sum) ||
           sum == handle->current.saved.checksum;
}

bool tic_verify_is_current_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (tic_verify_is_same_locked(snapshot, handle))
        return true;
    if (!atomic_load(&snapshot->replaying) && /* else the value is a later one */
        !is_being_filled(snapshot, handle))
        tell_difference(snapshot, handle);
    return false;
}

void tic_verify_check_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                             bool stale)
{
    if (!tic_handle_is_unchecked(handle, cut))
        return;
    const struct tic_value *value = tic_handle_value_at_locked(handle, cut);
    bool comparable = value && value == &handle->current && !stale &&
                      atomic_load(&handle->dirty_since) == 0 &&
                      !atomic_load_explicit(&handle->split, memory_order_relaxed);
    uint64_t sum;

    if (comparable && tic_sums_take(&snapshot->verify.sums, handle, &sum) &&
        sum != value->saved.checksum) {
        if (is_being_filled(snapshot, handle)) /* it is saved anew */
            atomic_store(&handle->dirty_since, atomic_load(&snapshot->cut.epoch));
        else
            tell_difference(snapshot, handle);
    }
    atomic_store_explicit(&handle->checked, cut, memory_order_release);
}

/* ---- all of them ----------------------------------------------------------------------------- */

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
            if (graph->handles[i]->imaged && graph->handles[i]->gone_since == 0)
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
    tic_unlock(&handle->lock);
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
            if (atomic_load(&list->items[i]->dirty_since) != 0)
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
            "no recovery line can be taken, for %.0f seconds now: callbacks or other threads go on "
            "while main() waits outside StarPU or not at all. A kill loses that time; "
            "starpu_task_wait_for_all in main() is a place where lines can be taken",
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

/* ---- quiescent lines ------------------------------------------------------------------------- */

void tic_verify_enter(struct tic_snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->graph->calls, 1);
}

/* While the line comes along main() stays; not for a checkpoint thread that does not answer. */
static void stay_locked(struct tic_snapshot *snapshot)
{
    uint64_t before, now = tic_snapshot_progress(snapshot);

    do {
        struct timespec until = tic_after(snapshot->options.patience);
        while (snapshot->verify.calm != TIC_CALM_NO && !snapshot->control.exited &&
               tic_snapshot_await_locked(snapshot, &until))
            ;
        before = now;
        now = tic_snapshot_progress(snapshot);
    } while (snapshot->verify.calm != TIC_CALM_NO && !snapshot->control.exited && now != before);
    snapshot->verify.calm = TIC_CALM_NO; /* the checkpoint thread sees that main() has gone on */
}

void tic_verify_leave(struct tic_snapshot *snapshot)
{
    if (!tic_snapshot_is_broken(snapshot))
        hash_exposed(snapshot);
    tic_lock(&snapshot->lock);
    if (snapshot->verify.calm == TIC_CALM_WANTED)
        pthread_cond_signal(&snapshot->wake);
    if (snapshot->verify.calm != TIC_CALM_NO)
        stay_locked(snapshot);
    atomic_fetch_add(&snapshot->graph->calls, 1);
    tic_unlock(&snapshot->lock);
}

void tic_verify_await_open(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    while (atomic_load(&snapshot->verify.closed) && !snapshot->control.exited)
        pthread_cond_wait(&snapshot->served, &snapshot->lock.mutex);
    tic_unlock(&snapshot->lock);
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

/* The memory counts, whatever was saved of it. */
static void take_as_it_is(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                          bool stale)
{
    uint64_t sum;

    if (atomic_load(&handle->dirty_since) != 0 || atomic_load(&handle->split) ||
        !tic_sums_take(&snapshot->verify.sums, handle, &sum) ||
        (!stale && handle->current.exists && sum == handle->current.saved.checksum))
        return;
    tic_handle_count_write(handle); /* later than its parts */
    atomic_store(&handle->dirty_since, cut);
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
