/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of memory that main(), callbacks or kernels may read, and that is not logged. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_handle;

/* There is, or was, memory that is main()'s own. */
extern _Atomic bool tic_looks_visible;
/* A task that declares no content is submitted: it may read memory that it does not declare. */
void tic_looks_note_blind(const struct starpu_task *task);
/* A task that writes no data reads some of a family: in a restart by a copy. */
void tic_looks_note_reader(const struct starpu_task *task);
/* main() submits a task that writes this data, to which it has had a pointer in an access. */
void tic_looks_note_exposed(const struct tic_handle *handle);
/* main() unregisters the data without coherency, and may read it by its pointer. */
void tic_looks_note_left(const struct tic_handle *handle);
/* Data that is not logged was registered: it is too large, or its interface packs it. */
void tic_looks_note_large(const struct tic_handle *handle);
void tic_looks_note_packed(const struct tic_handle *handle);
/* A task with a callback declares larger data. Any thread. */
void tic_looks_tell_large_of_callback(struct starpu_task *task);
/* The same of data that its interface packs. */
void tic_looks_tell_packed_of_callback(struct starpu_task *task, const struct tic_handle *handle);
/* What was said of that, or would have been; "": nothing. At the end. */
const char *tic_looks_packed_of_callback(void);
/* A task is submitted whose callback may read data that the task does not declare. Under
 * the submission lock. */
void tic_looks_note_callback_of(struct starpu_task *task);
/* What was said of that, or would have been; "": nothing. At the end. */
const char *tic_looks_undeclared(void);
/* In a replay main() has waited, and this data is not what it was then: later tasks write it. */
void tic_looks_tell_overwritten(const struct tic_handle *handle);
/* main() submits a task: if it has waited before, it goes on with what it sees. */
void tic_looks_note_submission(void);
/* main() waits in a run of `starpu-tic check`, where nothing is logged. */
void tic_looks_note_wait(void);
/* Has main() gone on then, and is there data that its interface packs? The first such. At the end.
 */
bool tic_looks_packed(uint64_t *id);
/* main() has waited so often; partial: not all data were compared this time. */
void tic_looks_tell(uint64_t waits, bool partial);
