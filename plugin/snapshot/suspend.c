/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protection while the store cannot be written. */
#include "snapshot/suspend.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "store/held.h"

/* Seconds until the first trial; each takes twice as long, up to the period or a minute. */
#define FIRST_TRIAL 0.01
#define LAST_TRIAL 60.0

void tic_snapshot_lose_cut(struct tic_snapshot *snapshot, uint64_t cut, int status)
{
    if (tic_snapshot_is_lost(snapshot, cut))
        return;
    atomic_store(&snapshot->lost.status, status);
    atomic_store(&snapshot->lost.cut, cut);
    tic_snapshot_wake(snapshot);
}

int tic_snapshot_hold_value(struct tic_snapshot *snapshot, const struct tic_layout *layout, int why,
                            struct tic_saved *saved)
{
    int status = tic_held_save(&snapshot->store->rows, layout, false, saved);

    if (status)
        return status;
    atomic_fetch_add_explicit(&snapshot->counts.values_held, 1, memory_order_relaxed);
    tic_snapshot_suspend_once(snapshot, why);
    return 0;
}

const char *tic_snapshot_reason(int status)
{
    return status == -ETIME     ? "it does not answer (STARPU_TIC_PATIENCE)"
           : status == -ELIBBAD ? "the HDF5 library refuses to; the disk is not the reason"
           : status == -ENOSPC  ? "No space left on device (df), or no inode (df -i)"
           : status == -ENOBUFS ? "256 MiB of values wait in memory for the disk already"
                                : strerror(-status);
}

static double next_backoff(const struct tic_snapshot *snapshot, bool again)
{
    double most = snapshot->period < LAST_TRIAL ? snapshot->period : LAST_TRIAL;
    double wanted = again ? 2 * snapshot->control.backoff : FIRST_TRIAL;

    if (most < FIRST_TRIAL)
        most = FIRST_TRIAL;
    return wanted < most ? wanted : most;
}

static const char *reason_of(const struct tic_snapshot *snapshot, int status)
{
    if (status == -EDQUOT && snapshot->options.space > 0)
        return "it would take more than STARPU_TIC_SPACE, or a quota is exceeded";
    if (status == -ENOENT && access("/proc/self/fd", F_OK) != 0)
        return "/proc is not mounted, through which files are opened. Mount it";
    return status == -ENOENT && tic_store_is_moved(snapshot->store) ? "it was moved or removed"
                                                                    : tic_snapshot_reason(status);
}

static void look_for_line(struct tic_snapshot *snapshot)
{
    if (tic_store_is_moved(snapshot->store) || !tic_store_has_newest(snapshot->store))
        atomic_store_explicit(&snapshot->store->has_line, false, memory_order_relaxed);
}

void tic_snapshot_lose_files(struct tic_snapshot *snapshot)
{
    look_for_line(snapshot);
    tic_snapshot_break(snapshot, TIC_LOST_FILES, snapshot->store->path);
}

void tic_snapshot_suspend(struct tic_snapshot *snapshot, int status)
{
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);

    tic_lock(&snapshot->lock);
    bool again = snapshot->control.retry_ns != 0;
    snapshot->control.backoff = next_backoff(snapshot, again);
    snapshot->control.retry_ns = now + (uint64_t)(snapshot->control.backoff * 1e9);
    tic_protection_move(&snapshot->protection, TIC_PROTECTION_SUSPENDED);
    pthread_cond_broadcast(&snapshot->served); /* nobody waits for a counted cut now */
    tic_unlock(&snapshot->lock);
    if (again)
        return;
    bool first = atomic_fetch_add(&snapshot->counts.suspensions, 1) == 0;
    if (status == -ENOENT && tic_store_is_moved(snapshot->store)) /* with its lines */
        atomic_store_explicit(&snapshot->store->has_line, false, memory_order_relaxed);
    tic_log(first ? TIC_LOG_WARN : TIC_LOG_DETAIL,
            "protection is suspended: cannot write to %s: %s. It is tried again; %s",
            snapshot->store->path, reason_of(snapshot, status),
            atomic_load_explicit(&snapshot->store->has_line, memory_order_relaxed)
                ? "the last recovery line stays as it is"
                : "there is no recovery line");
}

void tic_snapshot_suspend_once(struct tic_snapshot *snapshot, int status)
{
    if (!tic_protection_is_suspended(&snapshot->protection))
        tic_snapshot_suspend(snapshot, status);
}

void tic_snapshot_put_off(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    if (tic_snapshot_is_broken(snapshot))
        snapshot->control.retry_ns = 0;
    else if (snapshot->control.retry_ns != 0)
        snapshot->control.retry_ns =
            tic_nanoseconds(CLOCK_MONOTONIC) + (uint64_t)(snapshot->control.backoff * 1e9);
    tic_unlock(&snapshot->lock);
}

void tic_snapshot_resume(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool was = snapshot->control.retry_ns != 0;
    snapshot->control.retry_ns = 0;
    tic_protection_move(&snapshot->protection, TIC_PROTECTION_ACTIVE);
    tic_unlock(&snapshot->lock);
    if (was)
        tic_log(atomic_load(&snapshot->counts.suspensions) == 1 ? TIC_LOG_INFO : TIC_LOG_DETAIL,
                "protection goes on: recovery line %llu is written",
                (unsigned long long)snapshot->store->kept[0].number);
}
