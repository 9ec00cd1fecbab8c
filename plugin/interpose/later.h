/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks, and what else is held back until main() has come as far as it had. */
#ifndef TIC_INTERPOSE_LATER_H
#define TIC_INTERPOSE_LATER_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "snapshot/verify.h"

struct tic_small;

/* What was held back and is due happens, but main() goes on meanwhile: it has skipped a task, and
 * will skip the next. Nothing that is skipped can have come before what these callbacks submit now.
 */
void tic_clock_release_meanwhile(void);
extern bool tic_clock_lags; /* main() went on; owner thread only */
/* Until what is due has happened; not what main() has to submit before that. */
void tic_clock_catch_up(void);
/* Must main() come further before this may run? Then it is kept until then. Under the submission
 * lock. */
bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument);
/* The same for a task of ours with an end dependency, which another one waits for. And one end
 * dependency of any task is over. */
bool tic_clock_hold_gate_locked(uint64_t key, struct starpu_task *gate);
void tic_clock_open_gate(struct starpu_task *gate);
/* It is kept until the owner thread releases what is due, though main() need not come further. */
void tic_clock_leave_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument);
/* The same of a task of ours; main() may be held up until then. */
void tic_clock_leave_gate_locked(uint64_t key, struct starpu_task *gate);
/* Runs this when main() has come to the recovered cut, though the line may name it; it notes itself
 * what begins in it (tic_callback_begin). */
bool tic_clock_hold_to_cut_locked(uint64_t key, void (*run)(void *), void *argument);
/* The same for the callback of a task, if it has one, which must not run at its end then. The
 * structure stays until it has run; owned: it goes then, StarPU does not see it. small: what it may
 * look at, of a task that has ended, whose data may be gone; else NULL. */
bool tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small);
/* The same in a restart that redoes its history, which says when the callback runs; if it had not
 * begun, when what is queued is played: of a task of ours, as its own has ended. */
bool tic_clock_redo_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small);
/* StarPU grants an access with a callback while the queue is played: the callback comes after that.
 * run notes itself what begins. */
void tic_clock_redo_access(uint64_t key, void (*run)(void *), void *argument);
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
/* The operation of main() that the task waits for because of its prologues; 0: none. */
uint64_t tic_callback_start_clock(const struct starpu_task *task, uint64_t key);
/* Around what is noted of a callback, and the callback: a quiescent line has both, or neither. May
 * wait for such a line. running: if it was noted. Any thread. */
void tic_callback_open(void);
void tic_callback_close(struct tic_running_callback *running);
/* Calls the application's function as the application; then callbacks that were put off in it. It
 * is open. */
void tic_callback_run(void (*run)(void *), void *argument);
/* And notes that the callback of this task has begun. */
void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument);

#endif
