/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/skip.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "interpose/arguments.h"
#include "interpose/callback.h"
#include "session/context.h"
#include "interpose/callback_redo.h"
#include "interpose/prologue_redo.h"
#include "interpose/record.h"
#include "session/task.h"
#include "real/real.h"

/* Nobody waits for a part of it that only its own end can give. A structure that stays with the
 * application may be submitted again, and StarPU then allows it no predecessor, which a task that
 * stands in for one before it would be. */
static bool ends_alone_but_for_callback(const struct starpu_task *task)
{
    return task->destroy && !task->use_tag && !tic_task_has_prologue(task) &&
           task->hypervisor_tag == 0 && task->nb_termination_call_required == 0;
}

bool tic_skip_ends_alone(const struct starpu_task *task)
{
    return ends_alone_but_for_callback(task) && !tic_callback_of(task);
}

/* Nobody can tell whether such a task ever entered StarPU. */
static bool is_plain_but_for_callback(const struct starpu_task *task)
{
    return ends_alone_but_for_callback(task) && task->detach && !task->synchronous;
}

bool tic_skip_is_plain(const struct starpu_task *task)
{
    return is_plain_but_for_callback(task) && !tic_callback_of(task);
}

/* StarPU never hears of it. main() may ask for its successors, which it had when it was not done.
 */
static enum tic_verdict drop(struct starpu_task *task)
{
    if (tic_session->asks_successors)
        return TIC_DROP;
    task->destroy = 0; /* starpu_task_destroy insists */
    tic_real.starpu_task_destroy(task);
    return TIC_DROP;
}

enum tic_verdict tic_skip_done(struct starpu_task *task, uint64_t key)
{
    if (tic_session->asks_successors) /* main() may name it, though it ends at once */
        task->destroy = 0;
    tic_prologue_redo(task, key);
    tic_arguments_give_back_locked(task, key);
    atomic_fetch_add_explicit(&tic_session->skipped, 1, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_REPLAY_SKIP);
    if (is_plain_but_for_callback(task)) /* with a callback it may be gone then */
        return tic_callback_redo_locked(task, key, NULL, false) ? TIC_DROP : drop(task);
    task->hypervisor_tag = 0;
    tic_stop_unless(tic_callback_wrap(task, true, key, false)); /* which may submit it again */
    return TIC_CONTROL;
}

/* NULL stays. */
static void *copy_array(const void *array, size_t size)
{
    return array ? memcpy(tic_or_stop(malloc(size + 1)), array, size) : NULL;
}

/* It ends by itself: who asks for its end asks for that of the task that it was made of. StarPU's
 * copy shares what StarPU keeps of a task, and the arrays that it frees. */
static struct starpu_task *duplicate(struct starpu_task *task)
{
    struct starpu_task *copy = tic_or_stop(tic_real.starpu_task_dup(task));
    size_t buffers = task->cl ? (size_t)STARPU_TASK_GET_NBUFFERS(task) : 0;

    copy->starpu_private = NULL;
    copy->profiling_info = NULL;
    copy->status = STARPU_TASK_INIT;
    copy->dyn_interfaces = NULL;
    copy->dyn_handles = copy_array(task->dyn_handles, buffers * sizeof(*task->dyn_handles));
    copy->dyn_modes = copy_array(task->dyn_modes, buffers * sizeof(*task->dyn_modes));
    copy->destroy = copy->detach = 1;
    copy->synchronous = copy->use_tag = 0;
    copy->nb_termination_call_required = 0;
    copy->prologue_callback_func = copy->prologue_callback_pop_func = NULL; /* they had begun */
    if (!task->destroy)
        copy->cl_arg_free = 0;
    task->cl_arg_free = 0;
    copy->callback_arg_free = 0;
    return copy;
}

enum tic_verdict tic_skip_kernel(struct starpu_task *task, uint64_t key,
                                 struct starpu_task **kernel)
{
    if (is_plain_but_for_callback(task)) {
        *kernel = task;
        return TIC_HELD;
    }
    *kernel = duplicate(task);
    task->hypervisor_tag = 0;
    tic_stop_unless(tic_callback_wrap(task, true, key, false));
    return TIC_CONTROL;
}

enum tic_verdict tic_skip_with_value(struct starpu_task *task, uint64_t sequence)
{
    bool plain = tic_skip_is_plain(task);

    tic_record_restored(sequence);
    if (plain)
        return drop(task);
    task->hypervisor_tag = 0;
    tic_stop_unless(tic_callback_wrap(task, true, sequence, false));
    return TIC_CONTROL;
}
