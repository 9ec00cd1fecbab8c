/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/extend.h"

#include "interpose/forced.h"
#include "interpose/spawn.h"
#include "real/real.h"
#include "sched/tic_ws.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/task.h"
#include "snapshot/extending.h"
#include "snapshot/forced.h"

/* The task that this thread has begun last. */
static __thread struct {
    const struct tic_slot *slot; /* NULL: nothing is logged */
    bool whole;                  /* its results can stand for it */
    struct tic_ended ended;
} running __attribute__((tls_model("initial-exec")));

static bool is_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&tic_session->snapshot.extension.on, memory_order_acquire), 0);
}

void tic_extend_before_write(struct starpu_task *task, unsigned buffer)
{
    if (is_on() && STARPU_TASK_GET_MODE(task, buffer) & STARPU_COMMUTE)
        tic_extension_take_over(&tic_session->snapshot,
                                tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer)));
}

/* ---- which tasks ---------------------------------------------------------------------------- */

/* What main() submits has its own word; what recovery has submitted again carries it anew. */
static bool is_ordered(const struct starpu_task *task, const struct tic_spawn *spawn)
{
    if (!task->sequential_consistency || (!spawn && task->handles_sequential_consistency))
        return false;
    for (unsigned i = 0; spawn && i < spawn->task.buffers; i++)
        if (spawn->buffers[i].free)
            return false;
    return true;
}

static const char *why_not_outputs(struct starpu_task *task)
{
    const char *why = NULL;

    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task) && !why; i++) {
        starpu_data_handle_t data = STARPU_TASK_GET_HANDLE(task, i);
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        if (mode & STARPU_REDUX)
            why = "a reduction";
        else if (mode & STARPU_W)
            why = tic_forced_why_not_output(data, tic_handle_of(data));
    }
    return why;
}

/* Why its results cannot stand for it, or a restart would not know who it is; or NULL. */
static const char *why_not(struct starpu_task *task, const struct tic_spawn *spawn,
                           const struct tic_slot *slot)
{
    if (slot->writing.count == 0)
        return "it writes no data";
    if (slot->writing.count > TIC_ENDED_OUTPUTS)
        return "many outputs";
    if (spawn && !spawn->kept)
        return "a callback, a thread, or a task that writes no data has submitted it";
    if (task->use_tag || !tic_forced_only_writes(task))
        return "a tag, a callback or a structure that stays with the program";
    if (!is_ordered(task, spawn))
        return "no sequential consistency";
    if (tic_real.starpu_combined_worker_get_size() > 1)
        return "it is parallel";
    if (atomic_load(&tic_session->snapshot.late_ends))
        return "tasks end late";
    return why_not_outputs(task);
}

/* ---- a task --------------------------------------------------------------------------------- */

void tic_extend_begin(struct starpu_task *task, const struct tic_slot *slot)
{
    running.slot = NULL;
    if (!is_on())
        return;
    const struct tic_spawn *spawn = tic_spawn_of(task);
    int victim = tic_ws_victim_of(task);
    running.ended = (struct tic_ended){
        .key = spawn ? spawn->task.id : slot->sequence,
        .workers = (uint64_t)(victim + 1) << 32 | (uint32_t)tic_real.starpu_worker_get_id(),
    };
    if (!tic_extension_begin(&tic_session->snapshot, slot, &running.ended))
        return;
    const char *why = why_not(task, spawn, slot);
    running.slot = slot;
    running.whole = !why;
    if (why)
        tic_snapshot_need_lines(&tic_session->snapshot, tic_task_name(task), why);
    for (unsigned long i = 0; running.whole && i < slot->writing.count; i++)
        running.ended.outputs[i].version =
            atomic_load_explicit(&slot->writing.items[i]->saving.version, memory_order_relaxed);
}

void tic_extend_end(const struct tic_slot *slot, bool more)
{
    if (__builtin_expect(running.slot != slot, 1))
        return;
    running.slot = NULL;
    tic_extension_end(&tic_session->snapshot, slot, &running.ended, running.whole && !more);
}

/* ---- what its kernel submits ---------------------------------------------------------------- */

static bool note(const struct tic_spawn *spawn)
{
    struct tic_session *session = tic_session;
    struct tic_spawns *spawns = &session->graph.spawns;
    const struct tic_submitted submitted = {
        .run = running.ended.run,
        .epoch = running.ended.epoch,
        .parent = running.ended.key,
        .order = spawn->order,
        .task = spawn->task,
        .codelet = tic_spawns_function_name(spawns, spawn->task.codelet),
        .callback = spawn->task.callback != TIC_SPAWN_NONE
                        ? tic_spawns_function_name(spawns, spawn->task.callback)
                        : NULL,
        .buffers = spawn->buffers,
        .bytes = spawn->arguments,
    };

    return submitted.codelet && tic_extension_note(&session->snapshot, running.slot, &submitted);
}

void tic_extend_note_submitted(const struct tic_spawn *spawn)
{
    if (!running.slot || !running.whole || note(spawn))
        return;
    running.whole = false;
    tic_snapshot_need_lines(
        &tic_session->snapshot, "a task",
        "what its kernel has submitted takes too much space there, or could not "
        "be written");
}
