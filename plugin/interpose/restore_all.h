/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which data get their recovered values back, and when. */
#pragma once

#include <stdbool.h>

struct starpu_task;
struct tic_handle;

/* tic_data_restore_locked, outside of the submission lock. */
void tic_data_restore(struct tic_handle *handle, bool now);
/* All data in memory of main(), but for what waits for something else (NULL: nothing does). */
void tic_data_restore_image(bool (*waits)(const struct tic_handle *handle));
/* And all other data: the memory that StarPU gave it is taken, too. */
void tic_data_restore_elsewhere(bool (*waits)(const struct tic_handle *handle));
/* What callbacks of a task that runs nowhere may read is there when StarPU gets it. Under the
 * submission lock. */
void tic_data_restore_reads_locked(struct starpu_task *task);
/* A result of the event log became the value of this handle. Under the submission lock. */
void tic_data_note_adopted(struct tic_handle *handle);
/* Writes all that was adopted into memory: main() or a task may look at any of it. */
void tic_data_restore_adopted_locked(void);
void tic_data_restore_adopted(void);
void tic_data_restore_all(void);
/* Protection has ended because of another thread than the owner's, which is about to use this
 * handle (may be NULL). */
void tic_data_bring_up(struct tic_handle *handle);
/* May a restart write into its memory? False, or a message, for data that nobody has used, whose
 * memory may no longer be the program's. Under the submission lock. */
bool tic_data_may_change(const struct tic_handle *handle);

/* The handle is about to leave; main() gets its memory back. */
void tic_data_restore_leaving(struct tic_handle *handle);
