/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() comes to, and what it may look at once it has waited. Wrappers call these around the
 * real functions. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

/* An operation on data begins, which waits for tasks or does not. */
void tic_main_comes(bool waits);
/* main() comes back from a call that has waited: what it looks at is there before a replay shows
 * others what they look at. */
void tic_main_returns(void);

/* main() begins a call that waits for tasks, after which it may look at data by its pointers;
 * operates: on data, too. To be called by the wrapper itself, with where its caller's frame begins:
 * the stack below is used by this library meanwhile. */
void tic_wait_begin_at(bool operates, const void *frame);
#define tic_wait_begin(operates) tic_wait_begin_at(operates, __builtin_dwarf_cfa())
void tic_wait_end(const char *call);
/* The same of a call of StarPU-MPI that waits. */
void tic_wait_begin_around(const void *frame);
void tic_wait_end_around(const char *call);
/* A call that waits for tasks has returned, on any thread. Threads are not known again in a
 * restart: where one of the application waits, and there is memory that it may look at, protection
 * ends. */
void tic_looks_refuse_thread(const char *call);
/* main() has waited in a way of its own. */
void tic_wait_has_been(const char *call);
/* After a wait for all tasks: true if callbacks of a replay have run meanwhile. They may submit
 * tasks. */
bool tic_wait_settle_all(int result);
/* Without STARPU_TIC_VERIFY values come back on demand; main() may look at all data when nothing is
 * left to replay. */
void tic_wait_restore_all(void);
