/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels that may be executed more than once: which, and where StarPU calls them. */
#include "interpose/repeat.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "graph/spawn.h"
#include "interpose/certify.h"
#include "interpose/retry.h"
#include "real/real.h"
#include "session/kernels.h"
#include "session/nodes.h"
#include "session/task.h"

_Atomic bool tic_repeat_is_on;
static const char *can_fail = ""; /* names of codelets; immutable after the start */

/* The protected task that this worker began last, which StarPU calls the kernel of. */
static __thread struct {
    const struct starpu_task *task;
    uint64_t number, key;
} begun __attribute__((tls_model("initial-exec")));

/* ---- the kernel of a task -------------------------------------------------------------------- */

/* Kernels may call each other, also by the functions of codelets. */
static bool is_kernel_of(const struct tic_kernel *kernel, const struct starpu_task *task,
                         void *const buffers[], const void *argument)
{
    void *const *own = !task                  ? NULL
                       : task->dyn_interfaces ? task->dyn_interfaces
                                              : task->interfaces;

    return task && task->cl && buffers == own && argument == task->cl_arg &&
           tic_kernels_is_of(kernel, task->cl) && tic_real.starpu_combined_worker_get_size() <= 1;
}

static void execute(struct tic_execution *execution, bool is_known)
{
    const bool can_fail_here =
        atomic_load_explicit(&execution->kernel->can_fail, memory_order_relaxed);
    const bool certified = is_known && tic_certify_is_on() && tic_certify_wants(execution);

    if (!can_fail_here && !certified) {
        execution->kernel->function(execution->buffers, execution->argument);
        return;
    }
    execution->why_not =
        tic_undo_begin(&execution->undo, execution->task, execution->buffers, is_known);
    const int first = tic_retry_execute(execution, false, TIC_RETRY_ANYWHERE);
    if (certified && execution->why_not)
        tic_kernels_count(&tic_kernels_counts.left_out);
    else if (certified)
        tic_certify(execution, first);
    if (!execution->why_not)
        tic_undo_end(&execution->undo);
}

static void run(struct tic_kernel *kernel, void *buffers[], void *argument)
{
    struct starpu_task *task = tic_real.starpu_task_get_current();

    if (tic_retry_is_inside() || !is_kernel_of(kernel, task, buffers, argument)) {
        kernel->function(buffers, argument);
        return;
    }
    const bool is_known = begun.task == task && task->hypervisor_tag != 0;
    struct tic_execution execution = {
        .task = task,
        .kernel = kernel,
        .buffers = buffers,
        .argument = argument,
        .number = is_known ? begun.number : TIC_RETRY_NO_NUMBER,
        .key = is_known ? begun.key : 0,
        .worker = tic_real.starpu_worker_get_id(),
    };
    begun.task = NULL;
    execute(&execution, is_known);
}

/* ---- which kernels --------------------------------------------------------------------------- */

void tic_repeat_set(const struct tic_settings *settings)
{
    can_fail = settings->retry;
    tic_retry_set(settings->retries, settings->elsewhere);
    tic_kernels_run = run;
    if (settings->protocol == TIC_PROTOCOL_OFF) {
        if (settings->certify > 0 || can_fail[0])
            tic_log(TIC_LOG_WARN, "STARPU_TIC_CERTIFY and STARPU_TIC_RETRY have no effect with "
                                  "STARPU_TIC_PROTOCOL=off");
        return;
    }
    tic_certify_set(settings);
    if (can_fail[0] || tic_certify_is_on())
        atomic_store(&tic_repeat_is_on, true);
}

static void tell_no_room(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (!atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "more than %d kernels: those of codelet \"%s\" are neither certified nor executed "
                "again",
                TIC_KERNELS, tic_task_name(task));
}

/* A device, or a slave, calls a kernel that ours do not stand for. */
static void note_outside(const struct starpu_task *task, uint64_t key, bool fails)
{
    static _Atomic bool told;

    if (tic_certify_is_on())
        tic_certify_leave_out(key);
    if (fails && tic_nodes_has_slaves() && !atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "slaves execute tasks of codelet \"%s\": one that fails ends this process; "
                "starpu-tic explain slaves",
                tic_task_name(task));
}

void tic_repeat_begin_slow(struct starpu_task *task, const struct tic_slot *slot, uint64_t key)
{
    begun.task = NULL;
    if (tic_task_is_own(task))
        return;
    const bool fails =
        strcmp(can_fail, "all") == 0 || tic_settings_list_has(can_fail, tic_task_name(task));
    if (tic_real.starpu_worker_get_type(tic_real.starpu_worker_get_id()) != STARPU_CPU_WORKER) {
        note_outside(task, key, fails || tic_kernels_can_fail(task->cl));
        return;
    }
    if ((fails || tic_certify_is_on()) && tic_kernels_replace(task->cl, fails) == -ENOSPC)
        tell_no_room(task);
    begun.task = task;
    begun.number = slot->sequence & TIC_SPAWN_KEY ? TIC_RETRY_NO_NUMBER : slot->sequence;
    begun.key = key;
}

int tic_repeat_declare(struct starpu_codelet *codelet)
{
    tic_kernels_run = run;
    atomic_store(&tic_repeat_is_on, true);
    return codelet && tic_real_resolve(NULL) ? tic_kernels_replace(codelet, true) : -EINVAL;
}
