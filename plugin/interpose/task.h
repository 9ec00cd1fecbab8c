/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task is, whoever submits it: its name, its tag, and whether it is one of ours. */
#ifndef TIC_INTERPOSE_TASK_H
#define TIC_INTERPOSE_TASK_H

#include <stdbool.h>

#include "real/real.h"

/* starpu_task.hypervisor_tag says which task it is: 0 not protected; above, the sequence number + 1
 * in the main context; below TIC_TAG_HAS_DEPENDENCIES, -2 - index of a spawned task. Before the
 * submission: explicit dependencies name this task. */
#define TIC_TAG_HAS_DEPENDENCIES (-1)

/* A task of ours, which the application does not see among its own. NULL when out of memory. */
struct starpu_task *tic_task_create(void);
bool tic_task_is_own(const struct starpu_task *task);
/* Was there such a task? Most runs have none. */
bool tic_task_has_own(void);
const char *tic_task_name(const struct starpu_task *task);
/* Does StarPU keep the order of submission for this access? */
bool tic_task_is_ordered(const struct starpu_task *task, unsigned buffer);
static inline bool tic_task_runs_nowhere(const struct starpu_task *task)
{
    return !task->cl || task->where == STARPU_NOWHERE || task->cl->where == STARPU_NOWHERE;
}

#endif
