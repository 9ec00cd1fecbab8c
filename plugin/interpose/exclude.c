/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/exclude.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/names.h"
#include "interpose/looks.h"
#include "interpose/shape.h"
#include "interpose/typed.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "session/nodes.h"
#include "session/task.h"
#include "store/line.h"

_Atomic bool tic_exclude_any;

/* In the sizes of the signature: none is as large. */
#define EXCLUDED_SIZE (UINT64_C(1) << 63)

static int why_not(const struct tic_handle *handle)
{
    if (tic_handle_is_empty(handle) || !handle->supported)
        return -EINVAL;
    if (handle->use.mentioned || handle->use.was_partitioned || handle->use.submitted_writes > 0 ||
        handle->use.main_used.read > 0 || handle->use.main_used.written > 0 ||
        atomic_load(&handle->use.holds) > 0)
        return -EBUSY;
    return handle->family || handle->parent || handle->redux || handle->movable.may ||
                   tic_nodes_several
               ? -ENOTSUP
               : 0;
}

/* Cuts are raised, and memory is listed for comparison, under the graph lock. */
void tic_exclude_now(struct tic_handle *handle)
{
    tic_lock(&tic_session->graph.lock);
    tic_handle_lock_for_main(handle);
    handle->imaged = false;
    tic_unlock(&handle->saving.lock);
    tic_unlock(&tic_session->graph.lock);
    tic_lock(&tic_session->submit);
    handle->empty = TIC_EXCLUDED;
    handle->restart.pending = false;
    handle->signed_size ^= EXCLUDED_SIZE;
    atomic_store(&tic_exclude_any, true);
    tic_unlock(&tic_session->submit);
}

/* Signatures tell of tasks that main() submits; others may have written it, too. */
static void stop_unless_known(const struct tic_handle *handle)
{
    if (handle->restart.pending && atomic_load(&handle->saving.version) > 0)
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: the program excludes data %llu%s "
                 "(number of registration) from recovery lines (starpu_tic_data_exclude), and did "
                 "not when tasks wrote it. Nothing was overwritten: the recovery lines in %s are "
                 "untouched",
                 (unsigned long long)handle->id, tic_name_of(handle->id), tic_session->store.path);
}

int tic_exclude_data(struct tic_handle *handle)
{
    if (tic_handle_is_excluded(handle))
        return 0;
    int status = why_not(handle);
    if (status)
        return status;
    stop_unless_known(handle);
    /* What main() has put there counts as a value since the registration, and a line may have it.
     */
    tic_looks_remove(handle);
    status = tic_snapshot_hold(&tic_session->snapshot, handle, NULL);
    if (status == 0)
        tic_exclude_now(handle);
    return status;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool makes_excluded(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool writes = false;

    for (unsigned i = 0; i < buffers && !writes; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        writes =
            STARPU_TASK_GET_MODE(task, i) & STARPU_W && handle && tic_handle_is_excluded(handle);
    }
    return writes;
}

bool tic_exclude_runs_again(struct starpu_task *task)
{
    return tic_marks_runs_again(task) ||
           (atomic_load_explicit(&tic_exclude_any, memory_order_relaxed) && makes_excluded(task));
}

static const char *why_not_access(const struct starpu_task *task, unsigned buffer,
                                  enum starpu_data_access_mode mode)
{
    if (mode & (STARPU_COMMUTE | STARPU_REDUX))
        return "its accesses commute, so that a restart could come to another content";
    if (!tic_task_is_ordered(task, buffer))
        return "StarPU does not order it by that data (sequential consistency)";
    return NULL;
}

/* The text is as long as protection may end by it. */
static const char *tell(const struct tic_handle *handle, const char *why)
{
    static char text[512]; /* under the submission lock */

    snprintf(text, sizeof(text),
             "it uses data %llu%s (number of registration), which no recovery line holds "
             "(starpu_tic_data_exclude), and %s",
             (unsigned long long)handle->id, tic_name_of(handle->id), why);
    return text;
}

/* Its tasks are executed again in a restart, and so must not write what is saved. */
static bool writes_saved(const struct tic_accesses *accesses)
{
    unsigned i = 0;

    while (i < accesses->count &&
           !(accesses->items[i].mode & STARPU_W && !tic_handle_is_empty(accesses->items[i].handle)))
        i++;
    return i < accesses->count;
}

/* It is executed again, perhaps after tasks that have written what it reads: only StarPU's order
 * tells what that was. */
static const char *why_not_reads(const struct starpu_task *task,
                                 const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_R && !tic_handle_is_empty(accesses->items[i].handle) &&
            !tic_task_is_ordered(task, i))
            return "writes it, and StarPU does not order it by other data that it reads "
                   "(sequential consistency)";
    return NULL;
}

static const char *why_not_write(const struct starpu_task *task,
                                 const struct tic_accesses *accesses)
{
    return writes_saved(accesses)
               ? "writes it beside other data: a restart that skips the task would not have the "
                 "content, and one that executes it again would write the other data twice. Let "
                 "another task do that, or do not exclude the data"
               : why_not_reads(task, accesses);
}

const char *tic_exclude_refuse(const struct starpu_task *task, const struct tic_accesses *accesses,
                               enum tic_context context)
{
    const char *why = NULL;

    for (unsigned i = 0; i < accesses->count && !why; i++) {
        const struct tic_handle *handle = accesses->items[i].handle;
        if (!tic_handle_is_excluded(handle))
            continue;
        if (context != TIC_CONTEXT_MAIN)
            why = "a task, a callback or another thread submits it";
        else
            why = why_not_access(task, i, accesses->items[i].mode);
        if (!why && accesses->items[i].mode & STARPU_W)
            why = why_not_write(task, accesses);
        if (why)
            why = tell(handle, why);
    }
    return why;
}

/* ---- what they have written ------------------------------------------------------------------ */

_Noreturn static void stop(const struct starpu_task *task, uint64_t sequence,
                           const struct tic_handle *handle)
{
    tic_stop(
        TIC_EXIT_DIVERGED,
        "the replay differs from the recorded run: task \"%s\" (submission %llu), which is "
        "executed again, has written other content to data %llu%s (number of registration), which "
        "no recovery line holds (starpu_tic_data_exclude). Nobody has read it. The recovery lines "
        "in %s are untouched. Its kernel must compute the same from the data that it declares, and "
        "set all of it, or the data must not be excluded. If what differs does not matter (last "
        "bits of results on another processor, say), STARPU_TIC_INPUTS=ignore goes on",
        tic_task_name(task), (unsigned long long)sequence, (unsigned long long)handle->id,
        tic_name_of(handle->id), tic_session->store.path);
}

/* Of data that its interface packs, nothing is known without packing it. There is one memory node.
 */
static bool describe(const struct tic_handle *handle, struct tic_layout *layout)
{
    if (handle->packer ||
        !tic_interface_layout(
            tic_real.starpu_data_get_interface_id(handle->data),
            tic_real.starpu_data_get_interface_on_node(handle->data, STARPU_MAIN_RAM), layout))
        return false;
    layout->shape.type = handle->layout.shape.type;
    return true;
}

/* A line that holds the hash has the task in its cut, and so what it read. */
static void compare(struct starpu_task *task, unsigned buffer, uint64_t sequence)
{
    const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    uint64_t key = tic_line_input_of_task(sequence, buffer);
    struct tic_layout layout;

    if (!handle || !tic_handle_is_excluded(handle) || !describe(handle, &layout))
        return;
    int status = tic_graph_note_input(&tic_session->graph, key, tic_typed_hash(&layout),
                                      tic_snapshot_epoch(snapshot));
    if (status == -EILSEQ &&
        !tic_typed_is_hash_of(&layout, tic_graph_recorded_input(&tic_session->graph, key)))
        stop(task, sequence, handle);
    tic_snapshot_need(snapshot, status != -ENOMEM);
}

void tic_exclude_end_slow(struct starpu_task *task, uint64_t sequence)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    if (tic_session->settings.inputs == TIC_INPUTS_IGNORE)
        return;
    for (unsigned i = 0; i < buffers && i < TIC_LINE_INPUT_BUFFERS; i++)
        if (STARPU_TASK_GET_MODE(task, i) & STARPU_W)
            compare(task, i, sequence);
}

bool tic_exclude_is_in_force(void)
{
    struct tic_graph *graph = &tic_session->graph;
    bool any = false;

    if (!atomic_load(&tic_exclude_any))
        return false;
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && !any; i++)
        any =
            graph->handles[i]->listing.gone_since == 0 && tic_handle_is_excluded(graph->handles[i]);
    tic_unlock(&graph->lock);
    return any;
}
