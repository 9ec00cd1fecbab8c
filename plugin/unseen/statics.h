/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables of the program that kernels write, and memory that these or arguments of tasks point
 * to: nobody has registered it, so a restart that skips the tasks leaves it as main() has made it.
 * While main() waits, and nothing but tasks with output runs, it is kernels that change something
 * there. Only what such a wait shows is found: no other memory, and nothing that changes while
 * main() runs. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_handle;

/* A task is submitted: its kernels may lie in another object than the program, and what StarPU
 * writes into its structures is no variable of the program. Under the submission lock. */
void tic_statics_note_task(const struct starpu_task *task);
/* It has pointers in its arguments: what they point to is looked at, too. */
void tic_statics_note_arguments(const struct starpu_task *task);
/* StarPU has this data, and changes its structure. The rest of a block of the heap that it begins
 * is looked at, too. Any thread. */
void tic_statics_note_data(const struct tic_handle *handle);
/* A task without output begins, or ends: a restart executes it again. Any thread. */
void tic_statics_note_again(bool ends);

/* main() begins to wait in StarPU, or is held in a submission that observes (observe.h), and goes
 * on. frame: where its own stack begins. True if this is looked at. */
bool tic_statics_enter(const void *frame, bool observes);
void tic_statics_leave(bool observes);
/* A kernel calls a function of the C library that has a state of its own. */
void tic_statics_note_call(struct starpu_task *task, const char *call);
/* A kernel calls the stub of a device's kernel for the first time, which keeps a handle here. Any
 * thread that holds no lock. */
void tic_statics_note_stub(const char *handle, const void *stub);
/* Data of these words, which holds nothing but addresses, is as it was before a task that declares
 * to read and write it. Any thread that holds no lock. */
void tic_statics_note_followed(struct starpu_task *task, uint64_t id, const uint64_t *words,
                               size_t count);
/* How often main() has gone on. Owner thread only. */
uint64_t tic_statics_left(void);
/* Data leaves, and what was its memory is not looked at any more in this wait. */
void tic_statics_leave_out(const struct tic_handle *handle);
/* Has main() been waiting until now, and kernels changed something? Then a message says so, once,
 * and lines do. A line is about to count, or the first callback in this wait begins: what has
 * changed by now, tasks have written. Any thread that holds no lock. */
void tic_statics_look(bool callback);
/* What they changed, in words; "": nothing was found in this run. */
const char *tic_statics_found(void);
/* What was not looked at, as it was too much, in words, or "". */
const char *tic_statics_left_out(void);
