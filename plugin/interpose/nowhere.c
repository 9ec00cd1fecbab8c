/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks of tasks that run nowhere (STARPU_NOWHERE) and declare data for reading: they may look
 * at that data in memory (prologue.c). */
#include "interpose/nowhere.h"

#include <stdatomic.h>

#include "base/error.h"
#include "base/names.h"
#include "session/accesses.h"
#include "session/context.h"
#include "session/lookup.h"
#include "interpose/inputs.h"
#include "interpose/reads.h"
#include "session/task.h"
#include "session/uses.h"
#include "snapshot/extending.h"

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

/* Where the value of the data does not wait for main() in a restart, nor StarPU keeps it from
 * coming before the task has ended. */
static bool comes_early(const struct starpu_task *task, unsigned buffer,
                        const struct tic_handle *handle)
{
    return handle->home_node < 0 && !(task->destroy && tic_nowhere_is_ordered(task, buffer));
}

/* main() has gone on, and submitted tasks that write the data later: in a restart they may have it
 * before the callbacks that are still to come. */
static bool is_written_later(const struct starpu_task *task, unsigned buffer)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));

    if (!(STARPU_TASK_GET_MODE(task, buffer) & STARPU_R) || !tic_handle_has_content(handle) ||
        !comes_early(task, buffer, handle))
        return false;
    tic_lock(&tic_session->submit);
    bool later = handle->submitted_writes > atomic_load(&handle->version);
    tic_unlock(&tic_session->submit);
    return later;
}

static void tell_written_later(struct starpu_task *task)
{
    static _Atomic bool told;
    unsigned i = 0, count = STARPU_TASK_GET_NBUFFERS(task);

    if (atomic_load(&told) || tic_session->settings.pointers == TIC_POINTERS_TRUST)
        return;
    while (i < count && !is_written_later(task, i))
        i++;
    if (i == count || atomic_exchange(&told, true))
        return;
    const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
    tic_log(TIC_LOG_WARN,
            "callbacks of task \"%s\" may read data %llu%s that later tasks write; starpu-tic "
            "explain nowhere",
            tic_task_name(task), (unsigned long long)handle->id, tic_name_of(handle->id));
}

/* Main() may go on as soon as the task has had its data, before its callback. */
static void note_begin(uint64_t key)
{
    struct tic_running_callback running = {0};

    if (tic_snapshot_begin_callback(&tic_session->snapshot, key, &running) != 0)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
    tic_snapshot_end_callback(&tic_session->snapshot, &running);
}

void tic_nowhere_begin(struct starpu_task *task, uint64_t key)
{
    if (!task->prologue_callback_pop_func && tic_session_watches())
        note_begin(key ^ TIC_PROLOGUE_POP);
    if (!tic_session->recovered)
        tell_written_later(task);
    tic_extension_stop(&tic_session->snapshot);
    tic_reads_log(task, key, tic_snapshot_epoch(&tic_session->snapshot));
}
