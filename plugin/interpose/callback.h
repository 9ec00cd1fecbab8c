/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks of tasks, run as application code. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel of the task begins: a quiescent line waits for its callback, too. Any thread. */
void tic_callback_note_begin(const struct starpu_task *task);
/* Makes the task's callback and prologues run as application code, not as StarPU's. control: also
 * makes it a control task (no codelet) until then. key: of the task. held: the callback runs at
 * another time. False when out of memory; the task is unchanged. */
bool tic_callback_wrap(struct starpu_task *task, bool control, uint64_t key, bool held);
/* Has the application given a callback? It may be wrapped. */
bool tic_callback_is_there(const struct starpu_task *task);
/* Gives a copy of a wrapped task its own callback and prologues back. */
void tic_callback_unwrap(struct starpu_task *copy, const struct starpu_task *task);
/* The application has asked for it, and may look at its callback_arg. Any thread. */
void tic_callback_show(struct starpu_task *task);
