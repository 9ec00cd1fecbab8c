/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that run what was held back for main(), while main() waits: in place of workers, as it
 * may want what main() has, a mutex, say. */
#ifndef TIC_INTERPOSE_RUNNER_H
#define TIC_INTERPOSE_RUNNER_H

#include <stdbool.h>

/* run(arg) on a thread of ours, after what another caller waits for. Returns when it has, or when
 * the application's code waits in it for somebody, who may be the caller: then it goes on
 * meanwhile. In a runner, and if there is no thread: here. */
void tic_runner_run(void (*run)(void *arg), void *arg);
/* Around the application's code. Ours waits for locks only: nobody may overtake it. Any thread. */
void tic_runner_enter_application(void);
void tic_runner_leave_application(void);
/* In what tic_runner_run has called: does the caller of that no longer wait for it? Then others
 * do what is left to do. */
bool tic_runner_is_left(void);
/* Calls work() on another thread of ours, which may call tic_runner_run; the caller goes on
 * meanwhile. Always the same function; what is asked for several times before it begins is done
 * once. False: there is no such thread. */
bool tic_runner_ask(void (*work)(void));
/* Waits until all that was asked for is done. */
void tic_runner_await(void);
/* Waits for what still runs; for what waits for somebody, only if `all`. In a runner, for nothing.
 * True if anything ran. */
bool tic_runner_settle(bool all);
/* Is this thread of the process seen to wait for another one? */
bool tic_runner_waits(long thread);
/* Does any of them run, or wait? */
bool tic_runner_is_busy(void);

#endif
