/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first task of each codelet whose arguments hold pointers: main() is held while it runs, for a
 * moment, so that what it writes beside registered data is found before a line counts it as done,
 * also where main() does not wait for long. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* The arguments of this task of main() hold pointers. Owner thread only, as the next two. */
void tic_observe_plan(const struct starpu_task *task);
/* The task is submitted now, or was: main() waits until it has ended, if it is the first one, or
 * until nothing has run for 200 ms, a second in all. */
bool tic_observe_begin(const struct starpu_task *task, const void *frame);
void tic_observe_end(void);

/* A task ends. Any thread. */
void tic_observe_note_end(uint64_t sequence);
