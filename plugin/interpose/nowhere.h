/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What callbacks of tasks that run nowhere read. */
#ifndef TIC_INTERPOSE_NOWHERE_H
#define TIC_INTERPOSE_NOWHERE_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/spawn.h"

struct tic_accesses;

/* Keys of control tasks of main() and of tasks that run nowhere have this bit: the operation of
 * main() that submits them. */
enum { TIC_CONTROL_KEY_BIT = 62 };

static inline bool tic_nowhere_has_key(uint64_t key)
{
    return !(key & TIC_SPAWN_KEY) && key & UINT64_C(1) << TIC_CONTROL_KEY_BIT;
}

/* Does StarPU order this access of a task that runs nowhere as it orders others? */
bool tic_nowhere_is_ordered(const struct starpu_task *task, unsigned buffer);
/* Shows what the task of this key read before, where no live task uses the data. */
void tic_nowhere_show(uint64_t key);
/* The task has its data: what its callbacks may read is shown, and logged. */
void tic_nowhere_begin(struct starpu_task *task, uint64_t key);
/* A task that runs nowhere: may its callbacks read data? Then: why it ends protection,
 * or NULL; and before its submission by main(), under the submission lock, prepare in a restart. */
bool tic_nowhere_reads(const struct starpu_task *task, const struct tic_accesses *accesses);
const char *tic_nowhere_refuse(const struct tic_accesses *accesses);
void tic_nowhere_note(const struct tic_accesses *accesses);
void tic_nowhere_prepare_locked(const struct starpu_task *task, const struct tic_accesses *accesses,
                                uint64_t key);

#endif
