/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of main(), and what waits until it has come as far as before. */
#ifndef TIC_INTERPOSE_CLOCK_H
#define TIC_INTERPOSE_CLOCK_H

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose/backlog.h"
#include "interpose/context.h"

struct tic_small;

/* main() has not come to the recovered cut: values of data in memory of main() wait,
 * and so do live tasks. */
static inline bool tic_position_is_ahead(void)
{
    return __builtin_expect(tic_session && atomic_load(&tic_session->snapshot.replaying), 0);
}

/* Operations of main() begun so far. */
uint64_t tic_clock_now(void);
/* main() begins another one; or a call that only waits. */
void tic_clock_tick(void);
void tic_clock_wait(void);
/* Is main() not yet where it was at the recovered cut? */
bool tic_clock_is_behind(void);
/* main() has come this far: what was held back for it happens. Not inside the guard. */
void tic_clock_release(void);
/* The same, but main() goes on meanwhile: it has skipped a task, and will skip the next. Nothing
 * that is skipped can have come before what these callbacks submit now. */
void tic_clock_release_meanwhile(void);
extern bool tic_clock_lags; /* main() went on; owner thread only */
/* Until what is due has happened; not what main() has to submit before that. */
void tic_clock_catch_up(void);
/* Is something held back that main() has come far enough for? */
static inline bool tic_clock_is_due(void)
{
    return __builtin_expect(atomic_load(&tic_backlog_earliest) != UINT64_MAX, 0) &&
           atomic_load(&tic_backlog_earliest) <= tic_clock_now();
}

/* Must main() come further before this may run? Then it is kept until then. Under the submission
 * lock. */
bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument);
/* The same for the callback of a task, if it has one, which must not run at its end then. The
 * structure stays until it has run; owned: it goes then, StarPU does not see it. small: what it may
 * look at, of a task that has ended, whose data may be gone; else NULL. */
bool tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small);
/* Runs the callback of a task that ends at its submission by main(), which it may want something
 * of; before, a worker did. expected: tic_position_expect said so. meanwhile: main() goes on. */
void tic_clock_run_apart(struct starpu_task *task, uint64_t key, bool expected, bool meanwhile,
                         const struct tic_small *small);
/* A task is skipped. Inside a callback, its own callback runs when that one has returned; of
 * main(), which is behind, when it releases what is due. locked: under the submission lock, of a
 * task that StarPU does not see; false elsewhere. ended: inside a callback, in place of its own. */
bool tic_clock_put_off_locked(struct starpu_task *task, uint64_t key);
void tic_clock_put_off_ended(struct starpu_task *task, uint64_t key, bool expected,
                             const struct tic_small *small);
/* The outermost callback of this thread has returned. */
void tic_clock_run_put_off(void);
/* The task whose callback, held back before, this thread runs; or NULL. */
struct starpu_task *tic_clock_current_task(void);
/* Is anything held back? */
bool tic_clock_holds(void);

#endif
