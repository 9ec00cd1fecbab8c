/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the checkpoint thread is asked for, and how far it is; the end of protection. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/numbers.h"
#include "snapshot/snapshot.h"

static void withdraw(void *arg)
{
    struct tic_snapshot *snapshot = arg;
    int status = snapshot->ranks->log(false);

    if (status)
        tic_stop(TIC_EXIT_REFUSED,
                 "event logs of the ranks are of no use any more, and that cannot be noted: %s",
                 strerror(-status));
    atomic_store(&snapshot->results.withdrawn, true);
}

void tic_snapshot_withdraw_results(struct tic_snapshot *snapshot)
{
    if (snapshot->ranks && snapshot->options.log_all && !atomic_load(&snapshot->results.withdrawn))
        tic_apart_call(withdraw, snapshot);
}

void tic_snapshot_doubt_results(struct tic_snapshot *snapshot, const char *what)
{
    tic_snapshot_withdraw_results(snapshot);
    if (snapshot->recovery.with_ranks)
        tic_stop(TIC_EXIT_DIFFERS,
                 "%s: what ranks took from their event logs may not fit. Start again: no rank uses "
                 "them then",
                 what);
}

void tic_snapshot_break(struct tic_snapshot *snapshot, const char *fmt, ...)
{
    char reason[1024];
    va_list args;

    tic_snapshot_withdraw_results(snapshot);
    atomic_store(&snapshot->store->idle, true); /* before: tasks wait for no save from then on */
    if (!tic_protection_move(&snapshot->protection, TIC_PROTECTION_ENDED))
        return;
    va_start(args, fmt);
    tic_numbers_vprint(reason, sizeof(reason), fmt, args);
    va_end(args);
    tic_snapshot_doubt_results(snapshot, reason);
    snprintf(snapshot->protection.reason, sizeof(snapshot->protection.reason), "%.255s", reason);
    atomic_store_explicit(&snapshot->protection.explains, true, memory_order_release);
    tic_log(TIC_LOG_WARN, "protection ends here: %s. The program runs on unprotected; %s", reason,
            atomic_load_explicit(&snapshot->store->has_line, memory_order_relaxed)
                ? "a restart continues from the last recovery line, or says why not"
                : "there is no recovery line, so a restart begins anew");
}

void tic_snapshot_wake(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    pthread_cond_signal(&snapshot->wake);
    tic_unlock(&snapshot->lock);
}

void tic_snapshot_request(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    snapshot->control.requested = true;
    pthread_cond_signal(&snapshot->wake);
    tic_unlock(&snapshot->lock);
}

uint64_t tic_snapshot_count(struct tic_snapshot *snapshot)
{
    return snapshot->options.every == 0
               ? 0
               : atomic_load_explicit(&snapshot->ended, memory_order_relaxed) /
                     snapshot->options.every;
}

void tic_snapshot_note_counted(struct tic_snapshot *snapshot, uint64_t count)
{
    tic_lock(&snapshot->lock);
    snapshot->control.counted = count;
    snapshot->control.silent = false;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}

uint64_t tic_snapshot_progress(struct tic_snapshot *snapshot)
{
    return atomic_load(&snapshot->store->counts.values_written) +
           atomic_load(&snapshot->counts.checkpoints) + atomic_load(&snapshot->ended) +
           atomic_load(&snapshot->verify.sums.bytes) + atomic_load(&snapshot->window.fetched);
}

bool tic_snapshot_await_locked(struct tic_snapshot *snapshot, const struct timespec *until)
{
    return pthread_cond_timedwait(&snapshot->served, &snapshot->lock.mutex, until) != ETIMEDOUT;
}
