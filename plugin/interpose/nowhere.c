/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks of tasks that run nowhere (STARPU_NOWHERE) and declare data for reading: no hook runs
 * for such a task, but its callbacks may look at that data in memory. What it holds is logged when
 * the task has its data, before StarPU gives it to the next one. A restart shows it again before
 * each callback, unless a task that is not done uses the data: then the value must be there
 * already, as in any run. It is not if tasks that are done have written the data since; or one that
 * is not done, as StarPU does not know of the reader. That stops the restart. Where nothing was
 * logged by the recovered cut, no later writer is in the cut either, and the recovered value is the
 * one to see. */
#include "interpose/nowhere.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/names.h"
#include "session/accesses.h"
#include "session/context.h"
#include "session/contexts.h"
#include "interpose/inputs.h"
#include "session/lookup.h"
#include "interpose/reads.h"
#include "interpose/restore.h"
#include "interpose/shown.h"
#include "session/task.h"
#include "session/uses.h"
#include "real/real.h"
#include "snapshot/extending.h"

struct shown {
    uint64_t key, handle; /* task; id of the handle */
    struct tic_saved saved;
};

static struct {
    struct shown *items;
    unsigned long count, capacity;
} list; /* guarded by the submission lock; ascending key: main() submits them */

static bool has_content(const struct tic_handle *handle)
{
    return handle && !(handle->supported && tic_handle_is_empty(handle));
}

bool tic_nowhere_reads(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    bool reads = false;

    for (unsigned i = 0; i < accesses->count && task->cl && tic_callback_has_any(task); i++)
        reads |= accesses->items[i].mode & STARPU_R && has_content(accesses->items[i].handle);
    return reads;
}

const char *tic_nowhere_refuse(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_R && has_content(accesses->items[i].handle) &&
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

/* ---- a restart ------------------------------------------------------------------------------- */

static void show_later(uint64_t key, const struct tic_handle *handle,
                       const struct tic_line_read *read)
{
    void *grown = tic_grow(list.items, &list.capacity, list.count + 1, sizeof(*list.items));

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    list.items = grown;
    list.items[list.count++] =
        (struct shown){key, handle->id, {{read->extent, read->row}, read->checksum}};
}

void tic_nowhere_prepare_locked(const struct starpu_task *task, const struct tic_accesses *accesses,
                                uint64_t key)
{
    struct tic_line_read read;

    for (unsigned i = 0; i < accesses->count; i++) {
        struct tic_handle *handle = accesses->items[i].handle;
        bool ordered = tic_nowhere_is_ordered(task, i);
        if (!(accesses->items[i].mode & STARPU_R) || !has_content(handle))
            continue;
        if (tic_graph_find_read(&tic_session->graph, key, i, &read))
            show_later(key, handle, &read);
        else if (!ordered || tic_data_holds_values(handle))
            tic_data_restore_locked(handle, !ordered || !task->destroy ||
                                                tic_hooks_has_contexts() ||
                                                atomic_load(&tic_session->paused));
    }
}

/* Nobody but callbacks looks at the data: later, the recovered value comes in any case. */
static bool is_free(const struct tic_handle *handle)
{
    return handle && handle->data && !tic_data_is_live(handle) && handle->child_count == 0 &&
           atomic_load(&handle->holds) == 0;
}

static unsigned long find_locked(uint64_t key)
{
    unsigned long begin = 0, end = list.count;

    while (begin < end) {
        unsigned long middle = begin + (end - begin) / 2;
        if (list.items[middle].key < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static bool has_something(uint64_t key)
{
    tic_lock(&tic_session->submit);
    unsigned long i = find_locked(key);
    bool found = i < list.count && list.items[i].key == key;
    tic_unlock(&tic_session->submit);
    return found;
}

/* Under the submission lock. */
static bool holds(struct tic_handle *handle, const struct tic_saved *saved)
{
    uint64_t sum;

    tic_lock(&handle->lock);
    bool same = !handle->packer && handle->supported &&
                tic_sums_take(&tic_session->snapshot.verify.sums, handle, &sum) &&
                sum == saved->checksum;
    tic_unlock(&handle->lock);
    return same;
}

_Noreturn static void stop_later_value(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "a callback of a task that runs nowhere may read data %llu%s (number of "
             "registration), which tasks that were not done use by now: what it held when the "
             "callback ran cannot be shown there. A wait for tasks in main() after such callbacks "
             "lets them be protected",
             (unsigned long long)handle->id, tic_name_of(handle->id));
}

void tic_nowhere_show(uint64_t key)
{
    if (!has_something(key))
        return;
    tic_shown_pause();
    tic_lock(&tic_session->submit);
    for (unsigned long i = find_locked(key); i < list.count && list.items[i].key == key; i++) {
        const struct shown *shown = &list.items[i];
        struct tic_handle *handle = tic_graph_find_handle(&tic_session->graph, shown->handle);
        if (is_free(handle))
            tic_data_expose_locked(handle, &shown->saved);
        else if (handle && !holds(handle, &shown->saved))
            stop_later_value(handle);
    }
    tic_unlock(&tic_session->submit);
    tic_shown_resume(false);
}

/* main() has gone on, and submitted tasks that write the data later: in a restart they may have it
 * before the callbacks that are still to come. */
static bool is_written_later(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!has_content(handle))
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
    while (i < count && !(STARPU_TASK_GET_MODE(task, i) & STARPU_R &&
                          is_written_later(STARPU_TASK_GET_HANDLE(task, i))))
        i++;
    if (i == count || atomic_exchange(&told, true))
        return;
    const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
    tic_log(TIC_LOG_WARN,
            "callbacks of task \"%s\", which runs nowhere, may read data %llu%s (number of "
            "registration), and main() has submitted tasks that write it later: a restart may be "
            "refused, as it cannot show them what they read. A wait for tasks in main() in "
            "between lets them be protected",
            tic_task_name(task), (unsigned long long)handle->id, tic_name_of(handle->id));
}

void tic_nowhere_begin(struct starpu_task *task, uint64_t key)
{
    if (tic_session->recovered)
        tic_nowhere_show(key);
    else
        tell_written_later(task);
    tic_extension_stop(&tic_session->snapshot);
    tic_reads_log(task, key, tic_snapshot_epoch(&tic_session->snapshot));
}
