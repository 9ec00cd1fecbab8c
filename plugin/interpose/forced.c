/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks: of stolen ones (TIC), or of all (SEL); and their use in a restart.
 *
 * A result is used beyond the cut of the line, so everything that it comes from must be the same
 * again: only tasks of main() in programs where no order is a race, and whose submission, arguments
 * and events before it are the same. */
#include "interpose/forced.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "session/packed.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "session/task.h"
#include "session/uses.h"
#include "real/real.h"
#include "sched/tic_ws.h"
#include "snapshot/forced.h"

/* ---- which tasks ---------------------------------------------------------------------------- */

static bool is_racy(void)
{
    return atomic_load_explicit(&tic_session->racy, memory_order_relaxed);
}

const char *tic_forced_why_not_output(starpu_data_handle_t data, const struct tic_handle *handle)
{
    if (!handle || !handle->supported)
        return "data that cannot be saved";
    if (handle->packer)
        return "data that its interface packs";
    if (handle->family)
        return "data in planned partitions, or registered several times";
    if (!tic_real.starpu_data_get_sequential_consistency_flag(data))
        return "data without sequential consistency";
    return NULL;
}

/* Why the result cannot stand for the task; NULL: it can. *outputs: values that it writes. */
static const char *why_not(struct starpu_task *task, unsigned *outputs)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    const char *why = NULL;

    *outputs = 0;
    if (!task->sequential_consistency || task->handles_sequential_consistency)
        why = "no sequential consistency";
    else if (task->use_tag)
        why = "a tag";
    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        starpu_data_handle_t data = STARPU_TASK_GET_HANDLE(task, i);
        const struct tic_handle *handle = tic_handle_of(data);
        if (mode & (STARPU_COMMUTE | STARPU_REDUX))
            why = "writes that commute";
        if (!(mode & STARPU_W))
            continue;
        why = why ? why : tic_forced_why_not_output(data, handle);
        *outputs += !handle || !tic_handle_is_empty(handle);
    }
    return *outputs > TIC_FORCED_OUTPUTS ? "many outputs" : why;
}

static bool is_suitable(struct starpu_task *task)
{
    unsigned outputs;

    return !why_not(task, &outputs) && outputs > 0;
}

/* What is packed, the signature has. Pointers say nothing, structures have gaps nobody sets. */
static uint64_t hash_arguments(const struct starpu_task *task)
{
    return tic_packed_is_number(task) ? XXH3_64bits(&task->cl_arg, sizeof(task->cl_arg)) : 0;
}

/* ---- a worker ------------------------------------------------------------------------------- */

static __thread struct tic_forced_taken running __attribute__((tls_model("initial-exec")));

static struct starpu_codelet codelet;

/* SEL: why no result of this task is logged, or NULL. */
static const char *why_not_logged(struct starpu_task *task, const struct tic_slot *slot)
{
    unsigned outputs;

    if (slot->writing.count == 0)
        return NULL;
    if (is_racy())
        return "the order of tasks, or of callbacks of accesses, is not the same in each run";
    if (task->hypervisor_tag <= 0)
        return "main() has not submitted it";
    if (atomic_load(&tic_session->snapshot.late_ends))
        return "tasks end late";
    return why_not(task, &outputs);
}

static void log_start(const struct tic_slot *slot, uint64_t workers)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    const uint64_t words[2] = {slot->sequence, workers};

    tic_snapshot_append_of(snapshot, slot, TIC_LOGGED_STARTED, words, 2, NULL);
}

/* A restart puts no result in the place of a task that does more than to write it
 * (tic_skip_ends_alone). A callback that only we have set counts, too: that keeps more than need
 * be.
 */
bool tic_forced_only_writes(const struct starpu_task *task)
{
    return task->destroy && !task->callback_func && !tic_task_has_prologue(task) &&
           task->nb_termination_call_required == 0;
}

/* A restart executes the task again. */
static void keep_used(struct starpu_task *task)
{
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (handle)
            tic_reuse_note_use(handle, &tic_session->snapshot.cut);
    }
}

void tic_forced_begin(struct starpu_task *task, struct tic_slot *slot)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    int victim = tic_ws_victim_of(task);
    uint64_t workers = (uint64_t)(victim + 1) << 32 | (uint32_t)tic_real.starpu_worker_get_id();

    running.slot = NULL;
    if (snapshot->options.log_all)
        tic_reuse_note_begin(&snapshot->results.reuse, slot);
    if ((__builtin_expect(victim < 0, 1) && !snapshot->options.log_all) || snapshot->options.dry ||
        (snapshot->options.forced_percent == 0 && !snapshot->options.log_all) ||
        task->cl == &codelet)
        return;
    const char *why = why_not_logged(task, slot);
    if (snapshot->options.log_all && why && !atomic_load(&snapshot->extension.on))
        tic_snapshot_need_lines(snapshot, tic_task_name(task), why);
    if (snapshot->options.log_all &&
        (why || slot->writing.count == 0 || !tic_forced_only_writes(task)))
        keep_used(task);
    if (why || slot->writing.count == 0 || tic_snapshot_is_broken(snapshot))
        return;
    running.slot = slot;
    running.forced = (struct tic_forced){
        .sequence = slot->sequence,
        .signature = tic_signature_entry(&tic_session->graph.signature, slot->sequence),
        .arguments = hash_arguments(task),
        .workers = workers,
        .started = tic_nanoseconds(CLOCK_REALTIME),
    };
    tic_snapshot_events(snapshot, &running.forced.events, &running.forced.seen);
    if (snapshot->options.log_all)
        log_start(slot, workers);
}

void tic_forced_end(struct tic_slot *slot, bool has_more)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (__builtin_expect(running.slot != slot, 1))
        return;
    running.slot = NULL;
    bool logged = !has_more && !is_racy() && tic_snapshot_force(snapshot, slot, &running.forced);
    if (logged || !snapshot->options.log_all)
        return;
    tic_reuse_stop(&snapshot->results.reuse);
    if (!tic_snapshot_is_broken(snapshot) && !atomic_load(&snapshot->extension.on))
        tic_snapshot_need_lines(snapshot, "a task",
                                has_more ? "it changed its arguments"
                                         : "its result was not saved when it ended");
}

void tic_forced_exchange(const struct tic_forced_taken *now, struct tic_forced_taken *before)
{
    if (before)
        *before = running;
    running.slot = NULL;
    if (now)
        running = *now;
}

/* ---- a restart ------------------------------------------------------------------------------ */

/* Of what a result holds, the values of some data. */
struct outputs {
    unsigned count;
    struct tic_forced_value values[TIC_FORCED_OUTPUTS];
    struct tic_handle *handles[TIC_FORCED_OUTPUTS];
};

static void kernel(void *buffers[], void *arg)
{
    const struct outputs *placed = arg;

    tic_failpoint(TIC_FAIL_RESTORE_BEGIN);
    for (unsigned i = 0; i < placed->count; i++) {
        struct tic_layout layout;
        tic_interface_layout(*(enum starpu_data_interface_id *)buffers[i], buffers[i], &layout);
        int status = tic_store_read(&tic_session->store, &placed->values[i].saved, &layout);
        if (status)
            tic_data_stop_unreadable(placed->values[i].id, status, true);
    }
    tic_failpoint(TIC_FAIL_RESTORE_END);
}

static struct starpu_codelet codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {kernel},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "tic_forced",
};

/* No task of this run uses the data, so that all of its history is done, and it can be given a
 * value that is read when somebody needs it; also in the place of a recovered one that main() has
 * read. */
static bool is_idle(const struct tic_handle *handle)
{
    return (!handle->restart.live || handle->restart.delivered) && !handle->use.touched &&
           !handle->family && !handle->use.main_writes && handle->restart.main_writes_left == 0 &&
           atomic_load(&handle->use.holds) == 0 && atomic_load(&handle->saving.dirty_since) == 0 &&
           !tic_data_is_past_part(handle);
}

static void add_output(struct outputs *outputs, const struct tic_forced_value *value,
                       struct tic_handle *handle)
{
    outputs->values[outputs->count] = *value;
    outputs->handles[outputs->count++] = handle;
}

/* What the application's task wrote, in its order, is what the record holds. A task of ours must
 * write some of it, in its place among others. */
static bool matches(struct starpu_task *task, const struct tic_forced_found *result,
                    struct outputs *adopted, struct outputs *placed)
{
    const struct tic_forced_value *values =
        tic_snapshot_forced_values(&tic_session->snapshot, result);
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task), found = 0;

    if (!is_suitable(task) ||
        (tic_packed_is_number(task) && result->arguments != hash_arguments(task)) ||
        result->signature != tic_signature_entry(&tic_session->graph.signature, result->sequence))
        return false;
    for (unsigned i = 0; i < buffers; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_W) || tic_handle_is_empty(handle))
            continue;
        if (found == result->count || values[found].id != handle->id ||
            values[found].bytes != tic_shape_bytes(&handle->layout.shape))
            return false;
        add_output(is_idle(handle) ? adopted : placed, &values[found++], handle);
    }
    return found == result->count;
}

/* The values become those of the data, as those of a line are. */
static void adopt(uint64_t sequence, const struct outputs *adopted, bool whole)
{
    tic_stop_unless(tic_snapshot_adopt(&tic_session->snapshot, whole ? &sequence : NULL,
                                       adopted->values, adopted->handles, adopted->count) == 0);
    for (unsigned i = 0; i < adopted->count; i++) {
        struct tic_handle *handle = adopted->handles[i];
        tic_data_note_write(handle, false);
        handle->restart.pending = handle->restart.adopted = true;
        handle->restart.live = handle->restart.restored = handle->restart.delivered = false;
        if (tic_session->settings.verify > 0)
            tic_data_note_adopted(handle);
    }
    tic_session->restored_all = false;
    tic_failpoint(TIC_FAIL_REPLAY_SKIP);
}

static struct starpu_task *make_task(uint64_t sequence, const struct outputs *placed)
{
    struct starpu_task *task = tic_or_stop(tic_task_create());

    task->cl = &codelet;
    task->cl_arg = memcpy(tic_or_stop(malloc(sizeof(*placed))), placed, sizeof(*placed));
    task->cl_arg_size = sizeof(*placed);
    task->cl_arg_free = 1;
    task->nbuffers = (int)placed->count;
    for (unsigned i = 0; i < placed->count; i++) {
        task->handles[i] = placed->handles[i]->data;
        task->modes[i] = STARPU_W;
    }
    tic_task_mark(task, (int)sequence + 1);
    return task;
}

static void end_stand_in(void *arg)
{
    (void)arg;
    atomic_fetch_sub(&tic_session->snapshot.results.stand_ins, 1);
}

static void submit_stand_in(struct starpu_task *task, uint64_t sequence,
                            const struct outputs *placed, bool awaited)
{
    struct starpu_task *stand_in = make_task(sequence, placed);

    for (unsigned i = 0; i < placed->count; i++) {
        placed->handles[i]->restart.pending = false; /* it is overwritten now */
        tic_data_note_write(placed->handles[i], true);
    }
    stand_in->priority = task->priority;
    stand_in->callback_func = end_stand_in;
    tic_guard++;
    if (awaited)
        tic_real.starpu_task_declare_deps_array(task, 1, &stand_in);
    tic_guard--;
    if (!tic_task_submit(stand_in))
        tic_stop(TIC_EXIT_REFUSED, "StarPU refuses a task that restores a result");
    atomic_fetch_add_explicit(&tic_session->stand_ins, 1, memory_order_relaxed);
}

static bool are_whole(const struct outputs *outputs, bool placed)
{
    return tic_snapshot_is_whole(&tic_session->snapshot, outputs->values, outputs->count, placed);
}

bool tic_forced_use(struct starpu_task *task, uint64_t sequence, bool awaited)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    const struct tic_forced_found *result = tic_snapshot_forced_of(snapshot, sequence);
    struct outputs adopted = {.count = 0}, placed = {.count = 0};

    /* Results are of times when only main() had submitted. Who submits from elsewhere comes here
     * after this, under the same lock, or was here before: then the task would have to follow. */
    if (__builtin_expect(!result, 1) || is_racy() || result->count > STARPU_NMAXBUFS ||
        !matches(task, result, &adopted, &placed) ||
        (placed.count > 0 && (!tic_nodes_has_processor() || tic_nodes_has_disk())) ||
        !are_whole(&adopted, false) || !are_whole(&placed, true))
        return false;
    /* No cut has what is adopted before the rest is written. */
    atomic_fetch_add(&snapshot->results.stand_ins, placed.count > 0);
    if (adopted.count > 0)
        adopt(sequence, &adopted, placed.count == 0);
    if (placed.count > 0)
        submit_stand_in(task, sequence, &placed, awaited);
    atomic_fetch_add_explicit(&tic_session->forced_used, 1, memory_order_relaxed);
    return true;
}
