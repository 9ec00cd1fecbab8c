/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order between tasks that a replay executes again, and what comes after them. */
#ifndef TIC_INTERPOSE_ORDER_H
#define TIC_INTERPOSE_ORDER_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_handle;

/* In a replay, under the submission lock, before the real submission: the task is executed again.
 */
void tic_order_again(struct starpu_task *task, uint64_t key);
/* The task comes after those that are executed again, if they use the same data. enters: StarPU
 * will know it. */
void tic_order_follow(struct starpu_task *task, bool enters);
/* Does it wait for such a task? */
bool tic_order_is_behind(struct starpu_task *task);
/* After the real submission of a task that is executed again. */
void tic_order_after_submit(bool accepted);
/* main() waits for tasks that are executed again, and for what came after them. */
void tic_order_wait(struct tic_handle *handle, bool writes);
/* The data is about to be unregistered. */
void tic_order_forget(struct tic_handle *handle);

#endif
