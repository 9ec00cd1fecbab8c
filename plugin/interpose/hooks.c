/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protection as a set of hooks that compose with any StarPU policy: ours run around the policy's
 * own pre_exec_hook and post_exec_hook.
 *
 * A protected task carries its sequence number + 1 in starpu_task.hypervisor_tag. StarPU calls
 * pre_exec_hook after it fetched the data and before the kernel, and post_exec_hook after it
 * released the data but before tags and successors. Control tasks get neither. */
#include "base/failpoint.h"
#include "interpose/session.h"
#include "interpose/tasks.h"

static void begin_task(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_slot *slot = &session->snapshot.cut.slots[tic_real.starpu_worker_get_id()];
    uint64_t epoch =
        tic_cut_begin(&session->snapshot.cut, slot, (uint64_t)task->hypervisor_tag - 1);
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers; i++) {
        if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_W))
            continue;
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!handle || tic_handle_is_empty(handle))
            continue;
        if (handle->home_node < 0)
            tic_handle_locate(handle,
                              task->dyn_interfaces ? task->dyn_interfaces[i] : task->interfaces[i]);
        tic_snapshot_write(&session->snapshot, slot, epoch, handle);
    }
    tic_cut_running(slot, epoch);
    if (task->dyn_modes && buffers <= STARPU_NMAXBUFS &&
        slot->sequence < session->recovered_submissions)
        tic_submit_show_commuting(task);
    tic_failpoint(TIC_FAIL_TASK_BEGIN);
}

static void end_task(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_slot *slot = &session->snapshot.cut.slots[tic_real.starpu_worker_get_id()];

    tic_failpoint(TIC_FAIL_TASK_END);
    task->hypervisor_tag = 0; /* the application may submit the same structure again */
    tic_snapshot_task_end(&session->snapshot, slot);
}

static void pre_exec(struct starpu_task *task, unsigned context)
{
    if (tic_session->policy.pre_exec_hook)
        tic_session->policy.pre_exec_hook(task, context);
    if (task->hypervisor_tag > 0)
        begin_task(task);
}

static void post_exec(struct starpu_task *task, unsigned context)
{
    if (task->hypervisor_tag > 0)
        end_task(task);
    if (tic_session->policy.post_exec_hook)
        tic_session->policy.post_exec_hook(task, context);
}

void tic_hooks_install(struct tic_session *session)
{
    struct starpu_sched_policy *policy = tic_real.starpu_sched_ctx_get_sched_policy(0);

    session->policy = *policy;
    policy->pre_exec_hook = pre_exec;
    policy->post_exec_hook = post_exec;
}
