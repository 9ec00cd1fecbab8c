/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which submitted tasks cannot be protected. */
#include "interpose/refuse.h"

#include <limits.h>

#include "session/accesses.h"
#include "session/context.h"
#include "interpose/hooks.h"
#include "interpose/prologue.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "session/nodes.h"
#include "unseen/pointers.h"
#include "session/task.h"
#include "session/uses.h"
#include "interpose/writeback.h"

#define TIC_STRING(x) TIC_STRING_(x)
#define TIC_STRING_(x) #x

static const char *why_not_buffers(const struct starpu_task *task,
                                   const struct tic_accesses *accesses)
{
    bool writes = false, unsaved = false, reads = false;

    if (accesses->simple && accesses->modes & STARPU_W)
        return NULL;
    for (unsigned i = 0; i < accesses->count; i++) {
        enum starpu_data_access_mode mode = accesses->items[i].mode;
        struct tic_handle *handle = accesses->items[i].handle;
        if (!handle)
            return "it uses data that was not registered under protection";
        if (mode & STARPU_W && !handle->supported)
            return "it writes data whose interface has no pack_data and unpack_data, so that it "
                   "cannot be saved";
        writes |= mode & STARPU_W && !tic_handle_is_empty(handle);
        reads |= mode & STARPU_R && !tic_handle_is_empty(handle);
        unsaved |= mode & STARPU_R && !handle->supported && tic_data_holds_values(handle);
    }
    if (!writes && unsaved)
        return "it writes no data, and reads what tasks wrote with an interface that has no "
               "pack_data and unpack_data";
    if (!writes && reads && !task->destroy && !tic_session_is_owner() && tic_marks_runs_again(task))
        return "it is submitted by a task, a callback or another thread, writes no data but reads, "
               "and its structure stays with the application (destroy = 0); this is not protected "
               "yet";
    return NULL;
}

/* They would be lost where a restart skips it; and its data would be written twice where not. */
static const char *why_not_effects(const struct starpu_task *task,
                                   const struct tic_accesses *accesses)
{
    unsigned i = 0;

    if (tic_marks_of(task) != TIC_MARK_HAS_EFFECTS)
        return NULL;
    while (i < accesses->count &&
           !(accesses->items[i].mode & STARPU_W && !tic_handle_is_empty(accesses->items[i].handle)))
        i++;
    return i < accesses->count
               ? "its codelet has effects beside data (starpu_tic_codelet_has_effects), and it "
                 "writes data, too: a restart that skips it would leave them out. Let a task that "
                 "only reads have the effects: that one is executed again"
               : NULL;
}

const char *tic_refuse_task(struct starpu_task *task, const struct tic_accesses *accesses,
                            enum tic_context context)
{
    if (task->hypervisor_tag != 0 && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES)
        return "hypervisor tags are not supported";
    if (task->dyn_handles && !task->destroy)
        return "tasks of more than " TIC_STRING(
            STARPU_NMAXBUFS) " buffers that are submitted again "
                             "are not protected yet";
    if (task->regenerate)
        return "regenerated tasks are not protected yet";
    if (task->omp_task)
        return "StarPU's OpenMP-style tasks, which may stop and continue, are not protected yet";
    if (task->workerorder != 0)
        return "its place in the order of a worker (workerorder) is not protected yet: tasks that "
               "a "
               "restart skips leave a gap";
    if (!tic_hooks_cover(task))
        return "scheduling contexts without a policy are not protected yet";
    if (tic_session->graph.signature.position >= INT_MAX - 1)
        return "a run of more than two thousand million tasks is not protected";
    const char *why = tic_version_why_not(task);
    if (!why && tic_nodes_several)
        why = tic_writeback_refuse(task, accesses);
    why = why ? why : why_not_buffers(task, accesses);
    why = why ? why : why_not_effects(task, accesses);
    if (!why && context != TIC_CONTEXT_MAIN)
        why = tic_prologue_refuse(task, accesses);
    return why ? why : tic_pointers_refuse(task, accesses, true);
}
