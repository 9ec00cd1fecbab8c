/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that kernels submit in a restart before main() has come as far as before. */
#ifndef TIC_INTERPOSE_EARLY_H
#define TIC_INTERPOSE_EARLY_H

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/clock.h"

struct tic_spawn;

/* Under the submission lock. A kernel submits this task, which is not done: true when it is held
 * back; then tic_early_release is to be called, outside of the lock. */
bool tic_early_hold_locked(struct starpu_task *task, const struct tic_spawn *spawn);
/* Submits what main() has come far enough for. Any thread. */
void tic_early_release(void);
/* Is anything held back? */
bool tic_early_holds(void);
extern _Atomic uint64_t tic_early_next; /* clock of the first to release; UINT64_MAX: none */
static inline bool tic_early_is_due(void)
{
    return __builtin_expect(atomic_load(&tic_early_next) != UINT64_MAX, 0) &&
           atomic_load(&tic_early_next) <= tic_clock_now();
}

#endif
