/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that run what was held back for main(), while main() waits: in place of workers, as it
 * may want what main() has, a mutex, say. */
#ifndef TIC_INTERPOSE_RUNNER_H
#define TIC_INTERPOSE_RUNNER_H

#include <stdbool.h>

/* run(arg) on a thread of ours. Returns when it has, or when it waits for somebody, who may be the
 * caller: then it goes on meanwhile. In a runner, and if there is no thread: here. */
void tic_runner_run(void (*run)(void *arg), void *arg);
/* Waits for what still runs; for what waits for somebody, only if `all`. In a runner, for nothing.
 * True if anything ran. */
bool tic_runner_settle(bool all);

#endif
