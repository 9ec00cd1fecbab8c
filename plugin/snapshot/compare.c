/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does memory hold what StarPU knows? Main() and workers, a datum at a time. */
#include "snapshot/verify.h"

#include "base/error.h"
#include "base/names.h"
#include "base/thread.h"
#include "snapshot/snapshot.h"

enum { MOST_REFILLS = 3 }; /* times that main() may fill data that no task has mentioned yet */

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
    tic_log(TIC_LOG_WARN,
            "data %llu%s (%llu bytes) changed behind StarPU's back: fewer checkpoints now; "
            "starpu-tic explain behind",
            (unsigned long long)handle->id, tic_name_of(handle->id),
            (unsigned long long)tic_shape_bytes(&handle->layout.shape));
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
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);
    bool inside = now == calls && (now & 1) != 0;

    if (!handle->imaged)
        return;
    if (handle->saving.result.version == version + 1 &&
        !atomic_load_explicit(&handle->shares, memory_order_acquire)) { /* others do not count it */
        if (handle->saving.result.hash != saved->checksum)
            tell_difference(snapshot, handle);
    } else if (!inside && atomic_load_explicit(&handle->saving.written_in, memory_order_relaxed) !=
                              tic_graph_knowledge(snapshot->graph)) {
        doubt(snapshot, atomic_load(&snapshot->cut.active_cut));
    }
}

void tic_verify_note_result(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);

    if (!handle->imaged || atomic_load_explicit(&handle->shares, memory_order_relaxed) ||
        atomic_load_explicit(&handle->saving.writers, memory_order_acquire) != 1)
        return;
    uint64_t sum;
    if (!tic_sums_take_used(&snapshot->verify.sums, handle, &sum))
        return;
    tic_lock(&handle->saving.lock);
    /* A later writer counts itself before its kernel begins. */
    if (atomic_load_explicit(&handle->saving.version, memory_order_acquire) == version &&
        atomic_load(&handle->saving.dirty_since) != 0) {
        handle->saving.result.hash = sum;
        handle->saving.result.version = version + 1;
    }
    tic_unlock(&handle->saving.lock);
}

/* ---- main() comes back from a wait ---------------------------------------------------------- */

/* What main() may change from now on: of values that no line has, the hash is known then. What no
 * task has mentioned is being filled. */
static void note_exposed_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed);

    if (atomic_load_explicit(&handle->shares, memory_order_relaxed) ||
        atomic_load(&handle->saving.writers) != 0 || atomic_load(&handle->saving.split) ||
        handle->saving.result.version == version + 1 ||
        !atomic_load_explicit(&handle->use.mentioned, memory_order_relaxed) ||
        !tic_sums_take(&snapshot->verify.sums, handle, &handle->saving.result.hash))
        return;
    handle->saving.result.version = version + 1;
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
        if (!handle || !handle->imaged || handle->listing.gone_since != 0 ||
            atomic_load(&handle->saving.dirty_since) == 0) {
            tic_unlock(&graph->lock);
            continue;
        }
        tic_lock(&handle->saving.lock);
        tic_unlock(&graph->lock);
        note_exposed_locked(snapshot, handle);
        tic_unlock(&handle->saving.lock);
    }
    snapshot->verify.exposed_ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
}

/* Its content is what main() put there before a task mentioned it: main() may go on with that. */
static bool is_being_filled(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    if (atomic_load_explicit(&handle->use.mentioned, memory_order_relaxed) ||
        handle->saving.refills >= MOST_REFILLS)
        return false;
    handle->saving.refills++;
    raise_to(&snapshot->verify.unsure_cut, atomic_load(&snapshot->cut.active_cut));
    return true;
}

bool tic_verify_is_same_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    uint64_t sum;

    return !handle->imaged || !handle->saving.current.exists ||
           atomic_load_explicit(&handle->saving.split, memory_order_relaxed) ||
           !tic_sums_take(&snapshot->verify.sums, handle, &sum) ||
           sum == handle->saving.current.saved.checksum;
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
    bool comparable = value && value == &handle->saving.current && !stale &&
                      atomic_load(&handle->saving.dirty_since) == 0 &&
                      !atomic_load_explicit(&handle->saving.split, memory_order_relaxed);
    uint64_t sum;

    if (comparable && tic_sums_take(&snapshot->verify.sums, handle, &sum) &&
        sum != value->saved.checksum) {
        if (is_being_filled(snapshot, handle)) /* it is saved anew */
            atomic_store(&handle->saving.dirty_since, atomic_load(&snapshot->cut.epoch));
        else
            tell_difference(snapshot, handle);
    }
    atomic_store_explicit(&handle->saving.checked, cut, memory_order_release);
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
