/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Start and end of the checkpoint thread, which may be in a call that does not come back. */
#include <errno.h>

#include "base/io.h"
#include "base/thread.h"
#include "snapshot/snapshot.h"
#include "snapshot/suspend.h"

enum { STOP_PATIENCE = 6 }; /* the end may wait so many times longer than anything before */

enum stopped {
    STOPPED_EXITED,  /* the checkpoint thread ends */
    STOPPED_COMMITS, /* it does as soon as its line is committed */
    STOPPED_NEVER,   /* a call holds it */
};

/* Counted lines are to be there when StarPU is shut down. */
static enum stopped state_locked(const struct tic_snapshot *snapshot, bool all)
{
    return snapshot->control.exited                                               ? STOPPED_EXITED
           : snapshot->control.committing && !all && snapshot->options.every == 0 ? STOPPED_COMMITS
                                                                                  : STOPPED_NEVER;
}

/* all: also for a line that is being committed. */
static enum stopped await_exit(struct tic_snapshot *snapshot, bool all)
{
    uint64_t before, now = tic_snapshot_progress(snapshot);
    enum stopped state;

    tic_lock(&snapshot->lock);
    do {
        struct timespec until = tic_after(STOP_PATIENCE * snapshot->options.patience);
        int waited = 0;
        while ((state = state_locked(snapshot, all)) == STOPPED_NEVER && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&snapshot->served, &snapshot->lock.mutex, &until);
        before = now;
        now = tic_snapshot_progress(snapshot);
    } while (state == STOPPED_NEVER && now != before);
    tic_unlock(&snapshot->lock);
    return state;
}

/* It saves nothing any more when it comes back: the program may have freed what it would save. */
static void leave_thread(struct tic_snapshot *snapshot)
{
    tic_snapshot_break(snapshot, "%s does not answer (STARPU_TIC_PATIENCE)", snapshot->store->path);
    uint64_t cut = atomic_load(&snapshot->cut.active_cut);
    if (cut != 0)
        tic_snapshot_lose_cut(snapshot, cut, -ETIME);
    pthread_detach(snapshot->thread);
    tic_protection_move(&snapshot->protection, TIC_PROTECTION_ABANDONED);
}

static void stop(struct tic_snapshot *snapshot, bool hurry, bool all)
{
    tic_lock(&snapshot->lock);
    snapshot->control.stopping = true;
    snapshot->control.hurry = hurry;
    atomic_store(&snapshot->store->hurry, true);
    pthread_cond_signal(&snapshot->wake);
    tic_unlock(&snapshot->lock);
    enum stopped state = snapshot->started ? await_exit(snapshot, all) : STOPPED_EXITED;
    if (state == STOPPED_COMMITS)
        return;
    if (state == STOPPED_NEVER)
        leave_thread(snapshot);
    else if (snapshot->started)
        pthread_join(snapshot->thread, NULL);
    snapshot->started = false;
    tic_io_stop();
}

void tic_snapshot_stop(struct tic_snapshot *snapshot, bool hurry)
{
    stop(snapshot, hurry, true);
}

void tic_snapshot_release(struct tic_snapshot *snapshot)
{
    stop(snapshot, false, false);
}

int tic_snapshot_start(struct tic_snapshot *snapshot)
{
    if (snapshot->started) /* it was released */
        tic_snapshot_stop(snapshot, false);
    return tic_snapshot_is_abandoned(snapshot) ? -EBUSY : tic_snapshot_begin(snapshot);
}
