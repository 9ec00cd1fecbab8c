/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint thread waits: requests are served, and the event log is forced to the disk. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/failpoint.h"
#include "base/thread.h"
#include "snapshot/provide.h"
#include "snapshot/snapshot.h"

enum { STALL_PATIENCE = 200 }; /* looks of the checkpoint thread, each of 10 ms */

void tic_snapshot_sync_log(struct tic_snapshot *snapshot)
{
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);
    uint64_t written = atomic_load_explicit(&snapshot->log.bytes, memory_order_relaxed);

    if (snapshot->options.sync_ns == 0 || written == snapshot->cycle.synced_bytes ||
        now - snapshot->cycle.synced_ns < snapshot->options.sync_ns ||
        tic_snapshot_is_broken(snapshot))
        return;
    int status = tic_store_sync(snapshot->store);
    status = status ? status : tic_eventlog_sync(&snapshot->log);
    snapshot->cycle.synced_bytes = written;
    snapshot->cycle.synced_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    if (status && status != -ECANCELED)
        tic_snapshot_break(snapshot, "cannot force the event log in %s to the disk: %s",
                           snapshot->store->path, strerror(-status));
    tic_failpoint(TIC_FAIL_LOG_SYNC);
}

/* The run ends, and no task of the cut does: somebody has lost its end. */
static bool is_stalled(struct tic_snapshot *snapshot)
{
    uint64_t ended = atomic_load_explicit(&snapshot->ended, memory_order_relaxed);

    snapshot->cycle.stalled =
        ended == snapshot->cycle.ended_before ? snapshot->cycle.stalled + 1 : 0;
    snapshot->cycle.ended_before = ended;
    return snapshot->cycle.stalled > STALL_PATIENCE;
}

bool tic_snapshot_pause(struct tic_snapshot *snapshot, double seconds)
{
    struct timespec until = tic_after(seconds);

    tic_snapshot_sync_log(snapshot);
    tic_lock(&snapshot->lock);
    if (!snapshot->control.requests && !snapshot->control.log_wanted)
        pthread_cond_timedwait(&snapshot->wake, &snapshot->lock.mutex, &until);
    bool give_up = snapshot->control.stopping && (snapshot->options.every == 0 ||
                                                  snapshot->control.hurry || is_stalled(snapshot));
    tic_unlock(&snapshot->lock);
    tic_snapshot_serve_requests(snapshot);
    return give_up;
}
