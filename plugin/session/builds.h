/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds: of the program, and of the libraries that a run's results come from. These hold a
 * function of a task, or call StarPU. A restart must not go on with another build of one: values of
 * both would be mixed. A library counts from its first use on, however it was loaded.
 *
 * StarPU is not among them, as its version is compared, nor what kernels call: BLAS and libc, which
 * other machines have in other builds. */
#pragma once

#include <starpu.h>

/* The build ID of the program, else its content; to be freed. NULL: out of memory. */
char *tic_builds_of_program(void);

/* Libraries that call StarPU, of those that are loaded by now: once before recovery lines are
 * looked at, and again at each submission. `path` is the store; NULL before there is one. Where the
 * recorded run had another build the start is refused. Under the submission lock, or before. */
void tic_builds_note_callers(const char *path);
/* Libraries with this task's kernels and callbacks. Under the submission lock. */
void tic_builds_note_task(const struct starpu_task *task, const char *path);
