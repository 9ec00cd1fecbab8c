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

static struct tic_slot *own_slot(void)
{
    return &tic_session->snapshot.cut.slots[tic_real.starpu_worker_get_id()];
}

/* What identifies the task in the cut. */
static uint64_t slot_sequence(const struct starpu_task *task, const struct tic_spawn *spawn)
{
    return spawn ? TIC_SPAWN_KEY | spawn->index : (uint64_t)task->hypervisor_tag - 1;
}

static void begin_writes(struct starpu_task *task, struct tic_slot *slot, uint64_t epoch)
{
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
        tic_snapshot_write(&tic_session->snapshot, slot, epoch, handle);
    }
}

static void begin_task(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_slot *slot = own_slot();
    struct tic_spawn *spawn = tic_spawn_of(task);
    uint64_t epoch = tic_cut_begin(&session->snapshot.cut, slot, slot_sequence(task, spawn));

    if (spawn)
        atomic_store_explicit(&spawn->started, epoch, memory_order_release);
    begin_writes(task, slot, epoch);
    slot->counts = slot->writing.count > 0 || !session->settings.rerun;
    if (!slot->counts)
        tic_reads_log(task, spawn ? spawn->task.id : slot->sequence, epoch);
    tic_cut_running(slot, epoch);
    if (task->dyn_modes && STARPU_TASK_GET_NBUFFERS(task) <= STARPU_NMAXBUFS && !spawn &&
        slot->sequence < session->recovered_submissions)
        tic_submit_show_commuting(task);
    tic_failpoint(TIC_FAIL_TASK_BEGIN);
}

static void end_task(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_slot *slot = own_slot();
    struct tic_spawn *spawn = tic_spawn_of(task);

    tic_failpoint(TIC_FAIL_TASK_END);
    task->hypervisor_tag = 0; /* the application may submit the same structure again */
    if (spawn && !spawn->kept && !slot->counts) /* it will never be done for a restart */
        tic_spawns_remove(&session->graph.spawns, spawn);
    tic_snapshot_task_end(&session->snapshot, slot);
}

static bool is_protected(const struct starpu_task *task)
{
    return task->hypervisor_tag != 0 && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES;
}

static void pre_exec(struct starpu_task *task, unsigned context)
{
    if (tic_session->policy.pre_exec_hook)
        tic_session->policy.pre_exec_hook(task, context);
    if (is_protected(task))
        begin_task(task);
}

static void post_exec(struct starpu_task *task, unsigned context)
{
    if (is_protected(task))
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
