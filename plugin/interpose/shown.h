/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of main() that shows, in a replay, what tasks read that are executed again. Kernels may
 * reach what they declare by a pointer of the program's own, or beyond the ends of their buffers.
 * So such a task gets an alias: a handle of ours on the same memory, which holds the recorded value
 * while the task runs. Where the memory is needed for something else at that time (another value
 * for another task, what main() is shown), the alias points to a copy. */
#ifndef TIC_INTERPOSE_SHOWN_H
#define TIC_INTERPOSE_SHOWN_H

#include <starpu.h>
#include <stdbool.h>

#include "graph/handle.h"
#include "snapshot/cut.h"

/* May a task of main() read it by an alias? Under the submission lock, as the next one. */
bool tic_shown_may(const struct tic_handle *handle, const struct starpu_task *task);
/* A new alias, for one task; saved: what it read, NULL: what main() has put there. */
starpu_data_handle_t tic_shown_register(struct tic_handle *handle, const struct tic_saved *saved);

/* Around a task that is executed again, on its worker; any thread ends it. */
void tic_shown_begin(struct starpu_task *task, struct tic_slot *slot);
void tic_shown_end(struct tic_slot *slot);

/* main() is about to find a value in this memory (saved), or gets it back for good (NULL): tasks
 * that read something else there have ended, and no other uses it in place until main() has got
 * access (give). main() came after those tasks in the recorded run, too. Without the submission
 * lock, which their kernels may need. */
void tic_shown_take(const struct tic_handle *handle, const struct tic_saved *saved);
void tic_shown_give(const struct tic_handle *handle);

/* Both, around a recorded value that is written for who holds the data: no value of this run is
 * there. Any thread. */
void tic_shown_write(struct tic_handle *handle, const struct tic_saved *saved);

/* Around values that main(), or a callback, is shown: no task begins to use memory in place, and
 * those that do have ended. Without the submission lock. */
void tic_shown_pause(void);
/* waited: main() has come back from a wait, and may use all memory. */
void tic_shown_resume(bool waited);

#endif
