/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/window.h"

#include <errno.h>

#include "base/failpoint.h"
#include "base/thread.h"

enum { AT_ONCE = 1024 }; /* values that StarPU is asked for in one call */

/* Seconds between looks at data that cannot be asked for, as it leaves the graph. */
#define LEAVING_POLL 0.01

bool tic_window_is_open(const struct tic_snapshot *snapshot)
{
    return snapshot->options.log_all || atomic_load(&snapshot->window.open);
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Marks come before a second look at the window: a window that was opened meanwhile sees them, or
 * the task sees it. */
bool tic_window_mark(struct tic_snapshot *snapshot, const struct tic_slot *slot)
{
    bool waits = tic_window_is_open(snapshot);

    for (unsigned long i = 0; i < slot->writing.count && !waits; i++)
        atomic_store(&slot->writing.items[i]->movable.stale, true);
    return !waits && !tic_window_is_open(snapshot);
}

bool tic_window_may_force(const struct tic_snapshot *snapshot)
{
    uint64_t since = tic_nanoseconds(CLOCK_MONOTONIC) - snapshot->started_ns;
    uint64_t spent = atomic_load_explicit(&snapshot->window.forced_ns, memory_order_relaxed);

    return spent * 100 <= since * snapshot->options.forced_percent;
}

void tic_window_unmark(struct tic_handle *handle)
{
    if (atomic_load(&handle->movable.stale))
        atomic_store(&handle->movable.stale, false);
}

void tic_window_granted(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    struct tic_window *window = &snapshot->window;

    if (atomic_exchange(&handle->movable.stale, false)) {
        atomic_fetch_add_explicit(&window->fetched, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&window->bytes, tic_shape_bytes(&handle->layout.shape),
                                  memory_order_relaxed);
    }
    tic_failpoint(TIC_FAIL_WINDOW_FETCHED);
    if (atomic_fetch_sub(&window->asked, 1) == 1)
        tic_snapshot_wake(snapshot);
}

/* ---- asking ---------------------------------------------------------------------------------- */

bool tic_window_claim_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    bool claims = !handle->saving.leaves && !handle->movable.closed && handle->data &&
                  atomic_load(&handle->movable.asked) == TIC_ASKED_NOT;

    if (claims) {
        atomic_store(&handle->movable.asked, TIC_ASKED_NOW);
        atomic_fetch_add(&snapshot->window.asked, 1);
    }
    return claims;
}

static bool claim_stale(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    tic_lock(&handle->saving.lock);
    bool claims = atomic_load(&handle->movable.stale) && tic_window_claim_locked(snapshot, handle);
    tic_unlock(&handle->saving.lock);
    return claims;
}

/* Goes on at *next in the registry, and asks for some. Counts stale data in *stale. */
static void ask_for_some(struct tic_snapshot *snapshot, unsigned long *next, unsigned long *stale)
{
    struct tic_handle *handles[AT_ONCE];
    unsigned long count = 0;

    tic_lock(&snapshot->graph->lock);
    for (; *next < snapshot->graph->handle_count && count < AT_ONCE; ++*next) {
        struct tic_handle *handle = snapshot->graph->handles[*next];
        if (handle->listing.gone_since != 0 || !atomic_load(&handle->movable.stale))
            continue;
        ++*stale;
        if (claim_stale(snapshot, handle))
            handles[count++] = handle;
    }
    bool more = *next < snapshot->graph->handle_count;
    tic_unlock(&snapshot->graph->lock);
    if (count > 0)
        snapshot->options.other_memory.ask(handles, count);
    if (!more)
        *next = 0;
}

/* How many values main memory lacks. */
static unsigned long ask_for_all(struct tic_snapshot *snapshot)
{
    unsigned long next = 0, stale = 0;

    do
        ask_for_some(snapshot, &next, &stale);
    while (next > 0);
    return stale;
}

/* Each one that is granted wakes nobody but the last. */
static int await_granted(struct tic_snapshot *snapshot)
{
    bool over;

    do
        over = tic_snapshot_pause(snapshot, LEAVING_POLL) || tic_snapshot_is_broken(snapshot);
    while (!over && atomic_load(&snapshot->window.asked) > 0);
    return over ? -ECANCELED : 0;
}

int tic_window_open(struct tic_snapshot *snapshot)
{
    struct tic_window *window = &snapshot->window;
    int status = 0;

    if (!snapshot->options.other_memory.written || snapshot->options.log_all)
        return 0;
    snapshot->cycle.window_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    atomic_fetch_add_explicit(&window->opened, 1, memory_order_relaxed);
    tic_lock(&snapshot->lock);
    atomic_store(&window->open, true);
    pthread_cond_broadcast(&snapshot->served); /* workers that wait for a counted cut */
    tic_unlock(&snapshot->lock);
    tic_failpoint(TIC_FAIL_WINDOW_OPENED);
    while (status == 0 && ask_for_all(snapshot) > 0)
        status = await_granted(snapshot);
    tic_failpoint(TIC_FAIL_WINDOW_FILLED);
    return status;
}

void tic_window_close(struct tic_snapshot *snapshot)
{
    struct tic_window *window = &snapshot->window;

    if (!atomic_load(&window->open))
        return;
    atomic_store(&window->open, false);
    atomic_fetch_add_explicit(&window->ns,
                              tic_nanoseconds(CLOCK_MONOTONIC) - snapshot->cycle.window_ns,
                              memory_order_relaxed);
    tic_failpoint(TIC_FAIL_WINDOW_CLOSED);
}
