/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() comes to: what a restart holds back for it, and what it may look at once it has
 * waited. Wrappers call these around the real functions. */
#ifndef TIC_INTERPOSE_WAITS_H
#define TIC_INTERPOSE_WAITS_H

#include <starpu.h>
#include <stdbool.h>

/* An operation on data begins, which waits for tasks or does not: what was held back until then
 * must not wait for its end. */
void tic_main_comes(bool waits);
/* An operation has ended. */
void tic_main_has_come(void);
/* main() comes back from a call that has waited: what it looks at is there before a replay shows
 * others what they look at. */
void tic_main_returns(void);
/* main() has skipped a task. */
void tic_main_has_skipped(void);
/* main() is about to submit a task. If that runs, or contributes to a reduction, it comes after
 * what callbacks submitted before. */
void tic_main_submits(struct starpu_task *task);

/* Callbacks that a restart runs apart may be under way. */
bool tic_wait_has_runners(void);
/* main() begins a call that waits for tasks, after which it may look at data by its pointers;
 * operates: on data, too. To be called by the wrapper itself, with where its caller's frame begins:
 * the stack below is used by this library meanwhile. */
void tic_wait_begin_at(bool operates, const void *frame);
#define tic_wait_begin(operates) tic_wait_begin_at(operates, __builtin_dwarf_cfa())
void tic_wait_end(const char *call);
/* A call that waits for tasks has returned, on any thread. Threads are not known again in a
 * restart: where one of the application waits, and there is memory that it may look at, protection
 * ends. */
void tic_looks_refuse_thread(const char *call);
/* main() has waited in a way of its own. */
void tic_wait_has_been(const char *call);
/* After a wait for all tasks: true if callbacks have run meanwhile. They may submit tasks. */
bool tic_wait_settle_all(int result);
/* Without STARPU_TIC_VERIFY values come back on demand; main() may look at all data when nothing is
 * left to replay. */
void tic_wait_restore_all(void);

#endif
