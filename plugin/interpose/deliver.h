/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tasks read that are executed again, delivered in a replay. */
#ifndef TIC_INTERPOSE_DELIVER_H
#define TIC_INTERPOSE_DELIVER_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* Gives a task that is executed again what it read before, in handles of our own. True when there
 * was something. */
bool tic_reads_deliver(struct starpu_task *task, uint64_t key);
/* After the real submission, in a recovered run. */
void tic_reads_after_submit(bool accepted);
/* The application's handles of a structure that stays with it, while ours stand there. */
struct tic_lent;
/* Takes over what was delivered to such a task; NULL: nothing. */
struct tic_lent *tic_reads_lend(struct starpu_task *task);
/* Gives the task, or a copy of it, the application's handles back. lent may be NULL. */
void tic_reads_put_back(struct starpu_task *task, const struct tic_lent *lent);
/* The task does not need ours any more. */
void tic_reads_end_loan(struct tic_lent *lent);

#endif
