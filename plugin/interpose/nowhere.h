/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What callbacks of tasks that run nowhere read. */
#ifndef TIC_INTERPOSE_NOWHERE_H
#define TIC_INTERPOSE_NOWHERE_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_accesses;

/* The task has its data: what its callbacks may read is logged. */
void tic_nowhere_begin(struct starpu_task *task, uint64_t key);
/* A task that runs nowhere: may its callbacks read data? Then: why it ends protection,
 * or NULL. */
bool tic_nowhere_reads(const struct starpu_task *task, const struct tic_accesses *accesses);
const char *tic_nowhere_refuse(const struct tic_accesses *accesses);
void tic_nowhere_note(const struct tic_accesses *accesses);

#endif
