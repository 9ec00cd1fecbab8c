/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that write no handle: their effect lies elsewhere, so a restart executes them again, with
 * the values that they read the first time. Those are logged when the task starts, and are in
 * memory when it runs again (redo_values.c). */
#include "interpose/reads.h"

#include <errno.h>
#include <stdatomic.h>

#include "graph/family.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/shape.h"
#include "session/task.h"
#include "session/uses.h"
#include "real/real.h"
#include "snapshot/suspend.h"
#include "session/accesses.h"
#include "interpose/inputs.h"
#include "snapshot/extending.h"

/* Data without a home node that main() gives back while it is used: only callbacks that came after
 * that in the recorded run are left, which cannot have read it. Parts of a plan may be read after
 * that. */
static bool can_log(const struct tic_handle *handle)
{
    return handle && (handle->data || handle->home_node >= 0) && handle->supported &&
           !tic_handle_is_empty(handle);
}

static bool has_version(const struct tic_handle *handle)
{
    return atomic_load_explicit(&handle->saving.version, memory_order_relaxed) > 0 ||
           (handle->family &&
            atomic_load_explicit(&handle->family->writes, memory_order_relaxed) > 0);
}

/* While a recovered value waits, memory holds what main() has made, for tasks that are executed
 * again; also when main() has submitted those that come after them. */
static bool holds_values(struct tic_handle *handle)
{
    return !tic_data_is_pending(handle) && (tic_data_holds_values(handle) || has_version(handle));
}

/* Was a task submitted that writes it, or what shares its memory? Else main() makes the value
 * again, and so does a restart take it, which knows no more than what was submitted. In a restart
 * the version may be that of a recovered value that is not in memory yet. */
static bool is_from_tasks(struct tic_handle *handle)
{
    if (!tic_session->recovered && has_version(handle))
        return true;
    /* On several nodes main() may hold the lock while StarPU waits for this worker to move data.
     * What was submitted before this task, and is restored for it, is seen nevertheless. */
    if (tic_nodes_several)
        return holds_values(handle);
    tic_lock(&tic_session->submit);
    bool from_tasks = holds_values(handle);
    tic_unlock(&tic_session->submit);
    return from_tasks;
}

static int log_value(struct tic_handle *handle, enum tic_history_role role, uint64_t task,
                     unsigned buffer, uint64_t epoch)
{
    const struct tic_reader reader = {role, handle->id};
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_line_read known;
    struct tic_saved saved;
    bool fresh;

    if (tic_graph_find_read(snapshot->graph, task, buffer, &known) ||
        !tic_point_has_history(&snapshot->point))
        return 0; /* executed again: it reads what is recorded; or never again */
    int status = tic_snapshot_log_value(snapshot, handle, &saved, &fresh);

    if (status)
        return status;
    struct tic_line_read read = {task, buffer, saved.row.extent, saved.row.row, saved.checksum};
    status = tic_graph_note_read(snapshot->graph, &read, &reader, epoch);
    if (fresh)
        tic_rows_settle(&snapshot->store->rows, saved.row);
    return status;
}

static bool may_log(void)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    return !snapshot->options.dry && !tic_snapshot_is_broken(snapshot);
}

static void log_or_end(struct tic_handle *handle, enum tic_history_role role, uint64_t key,
                       unsigned buffer, uint64_t epoch)
{
    int status = log_value(handle, role, key, buffer, epoch);

    if (status && status != -ECANCELED)
        tic_snapshot_break(&tic_session->snapshot, "cannot keep what a task read: %s",
                           tic_snapshot_reason(status));
}

/* Of tasks that kernels submit always: who writes it next may not have been submitted yet, but is
 * when recovery submits them. Likewise where StarPU keeps no order. */
bool tic_reads_are_logged(struct starpu_task *task, unsigned buffer, uint64_t key)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));

    return STARPU_TASK_GET_MODE(task, buffer) & STARPU_R && can_log(handle) &&
           (key & TIC_SPAWN_KEY ||
            (tic_nowhere_has_key(key) && !tic_nowhere_is_ordered(task, buffer)) ||
            is_from_tasks(handle));
}

/* Where the task finds it, or, on several nodes, where it is saved from. */
static void *interface_of(struct starpu_task *task, unsigned buffer, bool elsewhere)
{
    if (elsewhere)
        return tic_real.starpu_data_get_interface_on_node(STARPU_TASK_GET_HANDLE(task, buffer),
                                                          STARPU_MAIN_RAM);
    return task->dyn_interfaces ? task->dyn_interfaces[buffer] : task->interfaces[buffer];
}

void tic_reads_log(struct starpu_task *task, uint64_t key, uint64_t epoch)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool nowhere = tic_nowhere_has_key(key);

    for (unsigned i = 0; i < buffers && may_log(); i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!tic_reads_are_logged(task, i, key))
            continue;
        if (handle->home_node < 0)
            tic_handle_locate(handle, interface_of(task, i, tic_nodes_several || nowhere));
        log_or_end(handle, nowhere ? TIC_HISTORY_CALLBACK : TIC_HISTORY_KERNEL, key, i, epoch);
    }
}

/* A prologue may be called under a lock of a policy, so this does not take the submission lock: it
 * keeps also what main() has made. On several nodes it may not be in main memory; a prologue that
 * asks for a pointer to data without a home node ends protection. */
void tic_reads_log_before(struct starpu_task *task, uint64_t key, uint64_t epoch)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers && may_log() && !tic_nodes_several; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (STARPU_TASK_GET_MODE(task, i) & STARPU_R && can_log(handle) && handle->home_node >= 0)
            log_or_end(handle, TIC_HISTORY_CALLBACK, key, i, epoch);
    }
}

void tic_reads_log_late(struct tic_handle *handle, unsigned buffer, uint64_t key, uint64_t epoch)
{
    if (may_log())
        log_or_end(handle, TIC_HISTORY_KERNEL, key, buffer, epoch);
}

void tic_reads_log_access(struct tic_handle *handle, uint64_t key)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (tic_handle_is_empty(handle) || snapshot->options.dry || tic_snapshot_is_broken(snapshot))
        return;
    tic_handle_locate_homeless(handle);
    int status = log_value(handle, TIC_HISTORY_CALLBACK, key, 0, tic_snapshot_epoch(snapshot));
    if (status && status != -ECANCELED)
        tic_snapshot_break(snapshot, "cannot keep what main() read: %s",
                           tic_snapshot_reason(status));
}

/* ---- tasks that run nowhere ------------------------------------------------------------------ */

/* Callbacks of tasks that run nowhere (STARPU_NOWHERE) and declare data for reading: they may look
 * at that data in memory (prologue.c). */

bool tic_nowhere_reads(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    bool reads = false;

    for (unsigned i = 0; i < accesses->count && task->cl && tic_callback_has_any(task); i++)
        reads |=
            accesses->items[i].mode & STARPU_R && tic_handle_has_content(accesses->items[i].handle);
    return reads;
}

const char *tic_nowhere_refuse(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_R &&
            tic_handle_has_content(accesses->items[i].handle) &&
            !accesses->items[i].handle->supported &&
            tic_data_holds_values(accesses->items[i].handle))
            return "it runs nowhere, and its callback may read what tasks wrote with an interface "
                   "that has no pack_data and unpack_data";
    return tic_session_context() == TIC_CONTEXT_MAIN
               ? NULL
               : "a task, a callback or another thread submits it, it runs nowhere, and its "
                 "callback may read data that it declares; this is not protected yet";
}

/* Its data stays until the task has ended. */
void tic_nowhere_note(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].handle && accesses->items[i].mode & STARPU_R)
            tic_data_note_use(accesses->items[i].handle, true, true);
}

/* Main() may go on as soon as the task has had its data, before its callback. */
static void note_begin(uint64_t key)
{
    struct tic_running_callback running = {0};

    tic_snapshot_begin_callback(&tic_session->snapshot, key, &running);
    tic_snapshot_end_callback(&tic_session->snapshot, &running);
}

void tic_nowhere_begin(struct starpu_task *task, uint64_t key)
{
    if (!task->prologue_callback_pop_func && tic_session_watches())
        note_begin(key ^ TIC_PROLOGUE_POP);
    tic_extension_stop(&tic_session->snapshot);
    tic_reads_log(task, key, tic_snapshot_epoch(&tic_session->snapshot));
}
