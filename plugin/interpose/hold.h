/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that wait for main() where StarPU hands them to the scheduling policy. */
#ifndef TIC_INTERPOSE_HOLD_H
#define TIC_INTERPOSE_HOLD_H

#include <starpu.h>
#include <stdbool.h>

/* The task, whose structure stays, is to wait until main() comes to the recovered cut, if it comes
 * to the policy: false if it does not. Under the submission lock. */
bool tic_hold_expect(struct starpu_task *task);
/* Before it comes there, on the thread that brings it: runs this when it goes on. False: it need
 * not wait. */
bool tic_hold_put_off(struct starpu_task *task, void (*run)(void *), void *argument);
/* Any thread, under locks of StarPU: the task comes to the policy. True: not now. */
bool tic_hold_take(struct starpu_task *task);
/* main() is there: those that have come go on. */
void tic_hold_release(void);

#endif
