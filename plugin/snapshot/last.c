/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A checkpoint that somebody waits for: the last one before the program is stopped. */
#include <errno.h>

#include "base/thread.h"
#include "snapshot/snapshot.h"

/* The next try begins after the request. It is no matter that the store could not be written
 * lately: there is no later. */
static uint64_t request_locked(struct tic_snapshot *snapshot)
{
    snapshot->control.requested = true;
    if (snapshot->control.retry_ns > 0)
        snapshot->control.retry_ns = 1;
    pthread_cond_signal(&snapshot->wake);
    return snapshot->control.tries_begun + 1;
}

/* Does something happen that the checkpoint may wait for? Tasks of its cut end some time; a main()
 * that computes by itself may not call StarPU for hours, nor come to a commit point. */
static bool is_moving(struct tic_snapshot *snapshot, uint64_t *progress)
{
    uint64_t before = *progress;

    *progress = tic_snapshot_progress(snapshot);
    if (tic_point_state(&snapshot->point) == TIC_POINT_WANTED)
        return false;
    return *progress != before || !tic_cut_is_idle(&snapshot->cut);
}

static int await_try_locked(struct tic_snapshot *snapshot, uint64_t number)
{
    uint64_t progress = tic_snapshot_progress(snapshot);

    do {
        struct timespec until = tic_after(snapshot->options.patience);
        while (snapshot->control.tries_ended < number && !snapshot->control.exited &&
               !snapshot->control.stopping && !tic_snapshot_is_broken(snapshot) &&
               tic_snapshot_await_locked(snapshot, &until))
            ;
    } while (snapshot->control.tries_ended < number && !snapshot->control.exited &&
             !snapshot->control.stopping && !tic_snapshot_is_broken(snapshot) &&
             is_moving(snapshot, &progress));
    return snapshot->control.tries_ended >= number ? snapshot->control.tried : -ECANCELED;
}

int tic_snapshot_take(struct tic_snapshot *snapshot)
{
    enum { TRIES = 3 }; /* memory that differs makes the next line another kind of line */
    int status = -ECANCELED;

    tic_lock(&snapshot->lock);
    snapshot->control.awaited++;
    for (int i = 0; i < TRIES && (i == 0 || status == 1); i++)
        status = await_try_locked(snapshot, request_locked(snapshot));
    snapshot->control.awaited--;
    tic_unlock(&snapshot->lock);
    return status;
}
