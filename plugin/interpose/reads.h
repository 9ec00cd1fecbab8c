/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tasks that write no data read, logged. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_handle;

/* Logs what a task reads that a restart will execute again. On a worker, in its begin hook. */
void tic_reads_log(struct starpu_task *task, uint64_t key, uint64_t epoch);
/* Logs what it may read before that, where it has its data: in a prologue. */
void tic_reads_log_before(struct starpu_task *task, uint64_t key, uint64_t epoch);
/* Is that buffer logged? The same at the end of the task, when what it has read is in main memory.
 */
bool tic_reads_are_logged(struct starpu_task *task, unsigned buffer, uint64_t key);
void tic_reads_log_late(struct tic_handle *handle, unsigned buffer, uint64_t key, uint64_t epoch);
/* Logs what an access of main() by callback reads, once it is granted. */
void tic_reads_log_access(struct tic_handle *handle, uint64_t key);

struct tic_accesses;

/* The task has its data: what its callbacks may read is logged. */
void tic_nowhere_begin(struct starpu_task *task, uint64_t key);
/* A task that runs nowhere: may its callbacks read data? Then: why it ends protection,
 * or NULL. */
bool tic_nowhere_reads(const struct starpu_task *task, const struct tic_accesses *accesses);
const char *tic_nowhere_refuse(const struct tic_accesses *accesses);
void tic_nowhere_note(const struct tic_accesses *accesses);
