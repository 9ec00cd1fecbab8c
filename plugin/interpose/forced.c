/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forced checkpoints of stolen tasks, and their results in a restart.
 *
 * A result is used beyond the cut of the line, so everything that it comes from must be the same
 * again: only tasks of main() in programs where no order is a race, and whose submission, arguments
 * and events before it are the same. */
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "interpose/tasks.h"
#include "sched/tic_ws.h"
#include "snapshot/forced.h"

/* ---- which tasks ---------------------------------------------------------------------------- */

static bool is_racy(void)
{
    return atomic_load_explicit(&tic_session->racy, memory_order_relaxed);
}

/* Can the result stand for the task? */
static bool is_suitable(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    unsigned outputs = 0;

    if (!task->sequential_consistency || task->handles_sequential_consistency || task->use_tag)
        return false;
    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        starpu_data_handle_t data = STARPU_TASK_GET_HANDLE(task, i);
        const struct tic_handle *handle = tic_handle_of(data);
        if (mode & (STARPU_COMMUTE | STARPU_REDUX))
            return false;
        if (!(mode & STARPU_W))
            continue;
        if (!handle || !handle->supported || handle->packer || handle->family ||
            !tic_real.starpu_data_get_sequential_consistency_flag(data))
            return false;
        outputs += !tic_handle_is_empty(handle);
    }
    return outputs > 0 && outputs <= TIC_FORCED_OUTPUTS;
}

/* Pointers say nothing. */
static uint64_t hash_arguments(const struct starpu_task *task)
{
    return task->cl_arg && task->cl_arg_size > 0 && !tic_spawn_has_pointer(task)
               ? XXH3_64bits(task->cl_arg, task->cl_arg_size)
               : 0;
}

/* ---- a worker ------------------------------------------------------------------------------- */

static __thread struct {
    const struct tic_slot *slot; /* NULL: its task was not stolen */
    struct tic_forced forced;
} theft __attribute__((tls_model("initial-exec")));

static uint64_t count_events(void)
{
    struct tic_graph *graph = &tic_session->graph;

    tic_lock(&graph->lock);
    uint64_t count = tic_tail_total(&graph->events);
    tic_unlock(&graph->lock);
    return count;
}

void tic_forced_begin(struct starpu_task *task, const struct tic_slot *slot)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    int victim = tic_ws_victim_of(task);

    theft.slot = NULL;
    if (__builtin_expect(victim < 0, 1) || snapshot->forced_percent == 0 || snapshot->dry ||
        is_racy() || task->hypervisor_tag <= 0 || atomic_load(&snapshot->late_ends) ||
        !is_suitable(task))
        return;
    theft.slot = slot;
    theft.forced = (struct tic_forced){
        .sequence = slot->sequence,
        .signature = tic_signature_entry(&tic_session->graph.signature, slot->sequence),
        .arguments = hash_arguments(task),
        .events = count_events(),
        .workers = (uint64_t)victim << 32 | (uint32_t)tic_real.starpu_worker_get_id(),
    };
}

void tic_forced_end(struct tic_slot *slot)
{
    if (__builtin_expect(theft.slot != slot, 1))
        return;
    theft.slot = NULL;
    if (!is_racy())
        tic_snapshot_force(&tic_session->snapshot, slot, &theft.forced);
}

/* ---- a restart ------------------------------------------------------------------------------ */

static void kernel(void *buffers[], void *arg)
{
    const struct tic_forced_result *result = *(const struct tic_forced_result **)arg;

    tic_failpoint(TIC_FAIL_RESTORE_BEGIN);
    for (unsigned i = 0; i < result->forced.count; i++) {
        struct tic_layout layout;
        tic_interface_layout(*(enum starpu_data_interface_id *)buffers[i], buffers[i], &layout);
        struct tic_layout packed = tic_layout_packed(&layout.shape, result->values[i]);
        tic_layout_copy(&layout, &packed);
    }
    tic_failpoint(TIC_FAIL_RESTORE_END);
}

static struct starpu_codelet codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {kernel},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "tic_forced",
};

/* What the application's task wrote, in its order, is what the record holds. */
static bool matches(struct starpu_task *task, const struct tic_forced *forced,
                    starpu_data_handle_t *data)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task), found = 0;

    if (!is_suitable(task) || forced->arguments != hash_arguments(task) ||
        forced->signature != tic_signature_entry(&tic_session->graph.signature, forced->sequence))
        return false;
    for (unsigned i = 0; i < buffers; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_W) || tic_handle_is_empty(handle))
            continue;
        if (found == forced->count || forced->outputs[found].id != handle->id ||
            forced->outputs[found].bytes != tic_shape_bytes(&handle->layout.shape))
            return false;
        data[found++] = handle->data;
    }
    return found == forced->count;
}

static struct starpu_task *make_task(const struct tic_forced_result *result,
                                     starpu_data_handle_t *data)
{
    struct starpu_task *task = tic_real.starpu_task_create();
    const struct tic_forced_result **arg = malloc(sizeof(*arg));

    if (!task || !arg) {
        free(arg);
        return NULL;
    }
    *arg = result;
    task->cl = &codelet;
    task->cl_arg = arg;
    task->cl_arg_size = sizeof(*arg);
    task->cl_arg_free = 1;
    task->nbuffers = (int)result->forced.count;
    for (unsigned i = 0; i < result->forced.count; i++) {
        task->handles[i] = data[i];
        task->modes[i] = STARPU_W;
    }
    task->hypervisor_tag = (int)result->forced.sequence + 1;
    return task;
}

bool tic_forced_use(struct starpu_task *task, uint64_t sequence)
{
    struct tic_session *session = tic_session;
    const struct tic_forced_result *result = tic_snapshot_forced_of(&session->snapshot, sequence);
    starpu_data_handle_t data[TIC_FORCED_OUTPUTS];

    if (!result || !matches(task, &result->forced, data))
        return false;
    struct starpu_task *stand_in = make_task(result, data);
    if (!stand_in)
        return false;
    for (unsigned i = 0; i < result->forced.count; i++) {
        struct tic_handle *handle = tic_handle_of(data[i]);
        handle->pending = false; /* it is overwritten now */
        tic_data_note_write(handle, true);
    }
    stand_in->priority = task->priority;
    tic_guard++;
    int status = tic_real.starpu_task_submit(stand_in);
    tic_guard--;
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "StarPU refuses a task that restores a forced checkpoint");
    atomic_fetch_add_explicit(&session->forced_used, 1, memory_order_relaxed);
    return true;
}
