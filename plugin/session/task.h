/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task is, whoever submits it: name, tag, key and callback; and which tasks are ours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "graph/spawn.h"
#include "real/real.h"

/* starpu_task.hypervisor_tag says which task it is: 0 not protected; above, the sequence number + 1
 * in the main context; below TIC_TAG_HAS_DEPENDENCIES, -2 - index of a spawned task. Before the
 * submission: explicit dependencies name this task. */
#define TIC_TAG_HAS_DEPENDENCIES (-1)

/* The hooks know it by this tag from now on, until it has ended: the planned parts that it uses
 * stay in the graph. Any thread. */
void tic_task_mark(struct starpu_task *task, int tag);
void tic_task_unmark(struct starpu_task *task);

/* The record of a spawned task that is live; else NULL. */
struct tic_spawn *tic_spawn_of(const struct starpu_task *task);

/* A task of ours, which the application does not see among its own. NULL when out of memory. */
struct starpu_task *tic_task_create(void);
/* Submits one; false, and it is gone, when StarPU does not take it. */
bool tic_task_submit(struct starpu_task *task);
/* Does this thread do so? StarPU holds a thread back in a submission where too many tasks have been
 * submitted (STARPU_LIMIT_MAX_SUBMITTED_TASKS). Tasks of ours are submitted under the submission
 * lock, which tasks that are to end may wait for, or by a worker, which would wait for its own
 * task. */
bool tic_task_is_submitting(void);
/* Waits until StarPU has done with the structure of a task that was submitted. Not within its end.
 */
void tic_task_await_end(struct starpu_task *task);
bool tic_task_is_own(const struct starpu_task *task);
/* Was there such a task? Most runs have none. */
bool tic_task_has_own(void);
/* For people: its codelet's name, or else its kernel's symbol. Any thread. */
const char *tic_task_name(const struct starpu_task *task);
/* For recovery lines: a build without symbols has the same. */
const char *tic_task_identity(const struct starpu_task *task);
/* Does StarPU keep the order of submission for this access? */
bool tic_task_is_ordered(const struct starpu_task *task, unsigned buffer);
/* May its commuting writes come in the order of submission? Under the submission lock. */
bool tic_task_may_be_ordered(const struct starpu_task *task);
static inline bool tic_task_runs_nowhere(const struct starpu_task *task)
{
    return !task->cl || task->where == STARPU_NOWHERE || task->cl->where == STARPU_NOWHERE;
}

/* Keys of control tasks of main() and of tasks that run nowhere have this bit: the operation of
 * main() that submits them. */
enum { TIC_CONTROL_KEY_BIT = 62 };

static inline bool tic_nowhere_has_key(uint64_t key)
{
    return !(key & TIC_SPAWN_KEY) && key & UINT64_C(1) << TIC_CONTROL_KEY_BIT;
}

/* Prologues are known by the key of their task with one of these bits inverted. */
#define TIC_PROLOGUE_FIRST (UINT64_C(1) << 61)
#define TIC_PROLOGUE_POP (UINT64_C(1) << 60)

static inline bool tic_task_has_prologue(const struct starpu_task *task)
{
    return task->prologue_callback_func || task->prologue_callback_pop_func;
}

/* What prologues of the task read is logged under this key: its data is there since the first. */
static inline uint64_t tic_prologue_key_of_reads(uint64_t key)
{
    return key | TIC_PROLOGUE_FIRST;
}

/* Does StarPU order this access of a task that runs nowhere as it orders others? */
bool tic_nowhere_is_ordered(const struct starpu_task *task, unsigned buffer);

/* The function that StarPU would call; or NULL. */
void (*tic_callback_of(const struct starpu_task *task))(void *);
static inline bool tic_callback_has_any(const struct starpu_task *task)
{
    return task->callback_func || (task->cl && task->cl->callback_func) ||
           tic_task_has_prologue(task);
}

/* Before a task is submitted: its commuting writes come in the order of submission. */
void tic_commute_in_order(struct starpu_task *task);
/* Before its kernel, which sees the modes that the application gave. */
void tic_commute_show(struct starpu_task *task);
