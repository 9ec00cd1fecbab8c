/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When prologues come in a restart. */
#ifndef TIC_INTERPOSE_PROLOGUE_HOLD_H
#define TIC_INTERPOSE_PROLOGUE_HOLD_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_accesses;

/* All under the submission lock, before the real submission by main(). */

/* What its prologues had read is to be shown to them. */
void tic_prologue_expect_locked(const struct starpu_task *task, const struct tic_accesses *accesses,
                                uint64_t key);
/* The task is done: its prologues wait until main() has come as far as it had. */
void tic_prologue_hold_done(struct starpu_task *task, uint64_t key);
/* It is not: those that had run by the recovered cut come when they did, without it; the others
 * with it, not before main() has come there. */
void tic_prologue_hold_live(struct starpu_task *task, uint64_t key);
/* It is executed again before that: those that had run by then come when they did, and it after
 * them. */
void tic_prologue_hold_again(struct starpu_task *task, uint64_t key);
/* The task, with its prologues, waits until main() has come as far as it had; also without them, if
 * it runs nowhere and had begun (tic_nowhere_begin). */
void tic_prologue_hold_start(struct starpu_task *task, uint64_t key);

/* In a restart that redoes its history: those that had begun come when that says so, with what they
 * had read, and without the task. True: another one had not, and comes with it. */
bool tic_prologue_redo(struct starpu_task *task, uint64_t key);

#endif
