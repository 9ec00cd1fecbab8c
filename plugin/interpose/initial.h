/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() had put into data before any task used it, for tasks that are executed again, where
 * it puts something else there in this run. A line holds it as the value of the data, if no task
 * has written that by the cut. */
#ifndef TIC_INTERPOSE_INITIAL_H
#define TIC_INTERPOSE_INITIAL_H

#include "graph/handle.h"

/* Stops the start if the line does not hold it. */
struct tic_saved tic_initial_of(struct tic_handle *handle);
/* The same of a part whose partition is over in the recovered cut: its whole has the value. Writes
 * it into the memory of the part. Under the submission lock. */
void tic_initial_write_part(struct tic_handle *part);

struct starpu_task;

/* What a task that had ended by the cut, and is executed again, read: true, it is in the store.
 * Else memory holds it by now. */
bool tic_initial_find_again(struct starpu_task *task, unsigned buffer, uint64_t key,
                            struct tic_saved *saved);

#endif
