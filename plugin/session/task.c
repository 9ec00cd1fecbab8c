/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/task.h"

#include <stdatomic.h>

#include "real/real.h"
#include "session/context.h"

/* The name of tasks of ours, told by its address. */
static const char own[] = "starpu-tic";
static _Atomic bool has_own; /* relaxed: there was such a task; most runs have none */

struct starpu_task *tic_task_create(void)
{
    struct starpu_task *task = tic_real.starpu_task_create();

    if (task)
        task->name = own;
    atomic_store_explicit(&has_own, true, memory_order_relaxed);
    return task;
}

static __thread bool submitting __attribute__((tls_model("initial-exec")));

bool tic_task_is_submitting(void)
{
    return submitting;
}

bool tic_task_submit(struct starpu_task *task)
{
    tic_guard++;
    submitting = true;
    int status = tic_real.starpu_task_submit(task);
    submitting = false;
    if (status) {
        task->destroy = 0; /* starpu_task_destroy insists */
        tic_real.starpu_task_destroy(task);
    }
    tic_guard--;
    return status == 0;
}

bool tic_task_is_own(const struct starpu_task *task)
{
    return task->name == own;
}

bool tic_task_has_own(void)
{
    return atomic_load_explicit(&has_own, memory_order_relaxed);
}

const char *tic_task_name(const struct starpu_task *task)
{
    if (task->cl->name)
        return task->cl->name;
    if (task->cl->model && task->cl->model->symbol)
        return task->cl->model->symbol;
    return task->name && !tic_task_is_own(task) ? task->name : "(a codelet without a name)";
}

bool tic_task_is_ordered(const struct starpu_task *task, unsigned buffer)
{
    const unsigned char *ordered = task->handles_sequential_consistency;

    return task->sequential_consistency && (!ordered || ordered[buffer]) &&
           tic_real.starpu_data_get_sequential_consistency_flag(
               STARPU_TASK_GET_HANDLE(task, buffer)) != 0;
}

bool tic_nowhere_is_ordered(const struct starpu_task *task, unsigned buffer)
{
    /* The array of the application, if there is one, need not exist any more. */
    return task->sequential_consistency && !task->handles_sequential_consistency &&
           tic_real.starpu_data_get_sequential_consistency_flag(
               STARPU_TASK_GET_HANDLE(task, buffer));
}

void (*tic_callback_of(const struct starpu_task *task))(void *)
{
    return task->callback_func ? task->callback_func : task->cl ? task->cl->callback_func : NULL;
}
