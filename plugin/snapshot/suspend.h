/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the store cannot be written, protection is suspended: the last line stays, values that are
 * not saved stay dirty, those that later lines need and that will be gone are held in memory
 * (store/held.h), and checkpoints are tried again, ever more seldom, until one succeeds. */
#pragma once

#include "base/thread.h"
#include "snapshot/snapshot.h"

/* A value that this cut needs could not be saved, and is about to change: the cut is given up.
 * Under the handle's lock, so that the checkpoint thread, which saves values under it, cannot save
 * what is changing. The cut stays active until the checkpoint thread finishes it. */
void tic_snapshot_lose_cut(struct tic_snapshot *snapshot, uint64_t cut, int status);
static inline bool tic_snapshot_is_lost(struct tic_snapshot *snapshot, uint64_t cut)
{
    return atomic_load(&snapshot->lost.cut) == cut;
}
/* Holds a value in memory that could not be saved. 0 or -ENOMEM. Under the handle's lock. */
int tic_snapshot_hold_value(struct tic_snapshot *snapshot, const struct tic_layout *layout, int why,
                            struct tic_saved *saved);

/* What a status means here, in words. */
const char *tic_snapshot_reason(int status);
/* Files of the store are gone: protection ends. Checkpoint thread. */
void tic_snapshot_lose_files(struct tic_snapshot *snapshot);
/* A checkpoint failed, or a value is held: what follows is tried later. Says so when it begins. Any
 * thread. */
void tic_snapshot_suspend(struct tic_snapshot *snapshot, int status);
/* The same, if it is not suspended. Any thread. */
void tic_snapshot_suspend_once(struct tic_snapshot *snapshot, int status);
/* A checkpoint succeeded. Checkpoint thread. */
void tic_snapshot_resume(struct tic_snapshot *snapshot);
/* No checkpoint was tried, or none will be: not at once again. Checkpoint thread. */
void tic_snapshot_put_off(struct tic_snapshot *snapshot);
/* Under the lock. */
static inline bool tic_snapshot_may_try_locked(const struct tic_snapshot *snapshot)
{
    return snapshot->control.retry_ns == 0 ||
           tic_nanoseconds(CLOCK_MONOTONIC) >= snapshot->control.retry_ns;
}
