/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/content.h"
#include "base/thread.h"
#include "snapshot/forced.h"

/* Seconds between looks, should a wake-up be lost. */
#define POLL 0.005
/* Seconds that the end of the run waits for what becomes of the last line. */
#define VERDICT_MOST 2.0

/* Until it is no more to wait for, or the thread must end. */
static enum tic_ranks_step await_step(struct tic_snapshot *snapshot)
{
    enum tic_ranks_step step;

    while ((step = snapshot->ranks->step()) == TIC_RANKS_WAIT)
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            break;
    return step;
}

static int status_of(enum tic_ranks_step step, enum tic_ranks_step wanted)
{
    return step == wanted ? 0 : step == TIC_RANKS_WAIT ? -ECANCELED : -ESTALE;
}

/* Rank 0 takes none by itself under sel. */
static bool needs_line(struct tic_snapshot *snapshot)
{
    return !snapshot->options.periodic &&
           (atomic_load(&snapshot->results.needs_lines) || tic_snapshot_is_log_large(snapshot));
}

bool tic_snapshot_begin_line(struct tic_snapshot *snapshot)
{
    double until = tic_seconds() + snapshot->options.patience;

    tic_lock(&snapshot->lock);
    bool awaited = snapshot->control.awaited > 0;
    tic_unlock(&snapshot->lock);
    awaited |= needs_line(snapshot);
    bool begins = snapshot->ranks->begin(awaited);
    if (begins || !awaited)
        return begins;
    while (snapshot->ranks->step() == TIC_RANKS_DROPPED && tic_seconds() < until &&
           !tic_snapshot_pause(snapshot, POLL) && !tic_snapshot_is_broken(snapshot))
        ;
    return snapshot->ranks->begin(false);
}

int tic_snapshot_await_cut(struct tic_snapshot *snapshot)
{
    if (!snapshot->ranks)
        return 0;
    snapshot->ranks->ready();
    return status_of(await_step(snapshot), TIC_RANKS_CUT);
}

int tic_snapshot_await_late(struct tic_snapshot *snapshot)
{
    if (!snapshot->ranks)
        return 0;
    int status = status_of(await_step(snapshot), TIC_RANKS_SAVE);
    const double patience = snapshot->options.patience, until = tic_seconds() + patience;
    while (status == 0 && snapshot->ranks->has_late(patience > 0 && tic_seconds() > until)) {
        if (tic_snapshot_pause(snapshot, POLL) || tic_snapshot_is_broken(snapshot))
            return -ECANCELED;
        status = status_of(snapshot->ranks->step(), TIC_RANKS_SAVE);
    }
    return status;
}

/* After a part only rank 0 decides, also where this thread is to end. */
static enum tic_ranks_step await_verdict(struct tic_snapshot *snapshot)
{
    double until = tic_seconds() + VERDICT_MOST;
    enum tic_ranks_step step = await_step(snapshot);

    while (step == TIC_RANKS_WAIT && tic_seconds() < until) {
        tic_snapshot_pause(snapshot, POLL);
        step = snapshot->ranks->step();
    }
    return step;
}

/* No later line may take the place of one that may count. */
static void end_lines(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool ends = snapshot->control.stopping;
    tic_unlock(&snapshot->lock);
    if (!ends)
        tic_snapshot_break(snapshot, "rank 0 does not tell whether all ranks have the last line");
    atomic_store(&snapshot->store->idle, true);
    tic_protection_move(&snapshot->protection, TIC_PROTECTION_ENDED);
}

/* This rank's part is on the disk: it stays if all others have theirs. */
static int confirm(void *arg, const char *name)
{
    struct tic_snapshot *snapshot = arg;
    uint64_t size, hash;
    char *path = NULL;
    int status = asprintf(&path, "%s/%s", snapshot->store->path, name) < 0
                     ? -ENOMEM
                     : tic_content_hash(path, &size, &hash);

    free(path);
    if (status)
        return status;
    snapshot->ranks->part(name, size, hash);
    enum tic_ranks_step step = await_verdict(snapshot);
    if (step == TIC_RANKS_COMMITTED)
        return 0;
    if (step == TIC_RANKS_DROPPED)
        return -ESTALE;
    end_lines(snapshot);
    return 1;
}

/* ---- results of tasks ------------------------------------------------------------------------ */

void tic_snapshot_note_race(struct tic_snapshot *snapshot, const char *what, const char *why)
{
    if (!snapshot->ranks || !snapshot->options.log_all)
        return;
    tic_snapshot_doubt_results(snapshot, what);
    tic_snapshot_need_lines(snapshot, what, why);
}

void tic_snapshot_join_ranks(struct tic_snapshot *snapshot, const struct tic_ranks *ranks)
{
    snapshot->ranks = ranks;
    snapshot->store->confirm = confirm;
    snapshot->store->confirm_arg = snapshot;
}
