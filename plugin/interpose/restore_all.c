/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which data get their recovered values back: all of main()'s memory where main() was at the cut,
 * what it may look at, and all when nothing is left to replay. */
#include "interpose/restore_all.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/names.h"
#include "graph/family.h"
#include "session/context.h"
#include "session/lookup.h"
#include "interpose/restore.h"
#include "session/uses.h"
#include "snapshot/suspend.h"
#include "replay/replay.h"

/* How many partitions it is a part of. */
static unsigned depth_of(const struct tic_handle *handle)
{
    unsigned depth = 0;

    for (; handle->parent; handle = handle->parent)
        depth++;
    return depth;
}

/* Held at the cut: whoever holds it for reading was shown this value, and StarPU would give nobody
 * access before the release. */
static bool is_held(const struct tic_handle *handle)
{
    return tic_replay_is_on() && atomic_load(&handle->use.holds) > 0 && !handle->family &&
           handle->use.by_callback.replayed == 0;
}

static struct tic_handle **list_image(bool (*waits)(const struct tic_handle *handle),
                                      unsigned long *count, unsigned *deepest)
{
    struct tic_graph *graph = &tic_session->graph;

    tic_lock(&graph->lock);
    struct tic_handle **handles = calloc(graph->handle_count + 1, sizeof(struct tic_handle *));
    *count = *deepest = 0;
    for (unsigned long i = 0; handles && i < graph->handle_count; i++) {
        struct tic_handle *handle = graph->handles[i];
        if (!handle->data || !handle->restart.pending ||
            !(tic_data_is_in_place(handle) || is_held(handle)) || (waits && waits(handle)))
            continue;
        handles[(*count)++] = handle;
        unsigned depth = depth_of(handle);
        *deepest = depth > *deepest ? depth : *deepest;
    }
    tic_unlock(&graph->lock);
    return handles;
}

/* Has neither a task nor an access of main() used it, as far as main() has come, nor by the
 * recovered cut? Not known of what shares its memory; tasks of skipped kernels count as submitted
 * writes. Under the submission lock. */
static bool is_unused(const struct tic_handle *handle)
{
    return !handle->family && !tic_data_was_written(handle) &&
           tic_graph_recorded_input(&tic_session->graph, handle->id) == 0 &&
           handle->use.submitted_writes == 0 && !handle->use.was_partitioned &&
           handle->use.main_used.read == 0 && handle->use.main_used.written == 0 &&
           !atomic_load(&handle->use.mentioned);
}

static void tell_unused(const struct tic_handle *handle)
{
    static bool told; /* guarded by the submission lock */

    if (told)
        return;
    told = true;
    tic_log(TIC_LOG_WARN,
            "data %llu%s (%llu bytes), used by no task, comes back as it was changed; starpu-tic "
            "explain unused",
            (unsigned long long)handle->id, tic_name_of(handle->id),
            (unsigned long long)tic_shape_bytes(&handle->layout.shape));
}

bool tic_data_may_change(const struct tic_handle *handle)
{
    if (!is_unused(handle))
        return true;
    if (tic_session->settings.unused == TIC_UNUSED_LEAVE)
        return false;
    tell_unused(handle);
    return true;
}

/* As it is already, or to be left so. */
static bool stays(struct tic_handle *handle)
{
    if (tic_handle_is_freed(handle))
        return true;
    struct tic_saved saved = tic_data_recovered_value(handle);
    bool unused = is_unused(handle);
    bool as_main_left = handle->imaged && !handle->family && handle->use.main_used.written == 0 &&
                        !tic_data_holds_values(handle) && !atomic_load(&handle->use.invalid);

    if (!(unused || as_main_left) || !tic_layout_is_mapped(&handle->layout))
        return false;
    if (tic_layout_checksum(&handle->layout) == saved.checksum)
        return true;
    if (!unused || tic_data_may_change(handle))
        return false;
    tic_snapshot_note_change(&tic_session->snapshot, handle); /* tasks may use it from now on */
    return true;
}

static void restore_or_leave_locked(struct tic_handle *handle)
{
    if (!is_held(handle) && !stays(handle)) {
        tic_constant_refuse(handle);
        tic_data_restore_now_locked(handle, true);
        return;
    }
    handle->restart.pending = false;
    handle->restart.live = true;
    handle->restart.restored = true;
}

/* What was partitioned comes before its parts, which are later. */
void tic_data_restore_image(bool (*waits)(const struct tic_handle *handle))
{
    unsigned long count;
    unsigned deepest;
    struct tic_handle **handles = tic_or_stop(list_image(waits, &count, &deepest));

    for (unsigned depth = 0; depth <= deepest; depth++)
        for (unsigned long i = 0; i < count; i++)
            if (depth_of(handles[i]) == depth)
                restore_or_leave_locked(handles[i]);
    free(handles);
}

/* The handles whose values wait, as of now; *count of them. */
static struct tic_handle **all_pending(unsigned long *count)
{
    struct tic_graph *graph = &tic_session->graph;

    tic_lock(&graph->lock);
    struct tic_handle **handles = calloc(graph->handle_count + 1, sizeof(struct tic_handle *));
    *count = 0;
    for (unsigned long i = 0; handles && i < graph->handle_count; i++) {
        struct tic_handle *handle = graph->handles[i];
        if (handle->data && handle->child_count == 0 && tic_data_holds_values(handle))
            handles[(*count)++] = handle;
    }
    tic_unlock(&graph->lock);
    return handles;
}

void tic_data_restore_elsewhere(bool (*waits)(const struct tic_handle *handle))
{
    unsigned long count;
    struct tic_handle **handles = tic_or_stop(all_pending(&count));

    for (unsigned long i = 0; i < count; i++)
        if (!tic_data_is_in_place(handles[i]) && !(waits && waits(handles[i])))
            tic_data_restore_now_locked(handles[i], false);
    free(handles);
}

static struct tic_handle_list adopted; /* guarded by the submission lock */

void tic_data_note_adopted(struct tic_handle *handle)
{
    tic_stop_unless(!tic_data_is_in_place(handle) || tic_handle_append(&adopted, handle));
}

void tic_data_restore_adopted_locked(void)
{
    for (unsigned long i = 0; i < adopted.count; i++)
        if (adopted.items[i]->data)
            tic_data_restore_now_locked(adopted.items[i], true);
    adopted.count = 0;
}

void tic_data_restore_adopted(void)
{
    if (!tic_session->recovered)
        return;
    tic_lock(&tic_session->submit);
    tic_data_restore_adopted_locked();
    tic_unlock(&tic_session->submit);
}

void tic_data_restore(struct tic_handle *handle, bool now)
{
    tic_lock(&tic_session->submit);
    tic_data_restore_locked(handle, now);
    tic_unlock(&tic_session->submit);
}

void tic_data_restore_all(void)
{
    unsigned long count;
    struct tic_handle **handles = tic_or_stop(all_pending(&count));

    for (unsigned long i = 0; i < count; i++)
        tic_data_restore(handles[i], tic_data_is_in_place(handles[i]));
    free(handles);
}

void tic_data_bring_up(struct tic_handle *handle)
{
    if (handle && tic_session->recovered && tic_session_is_watching())
        tic_data_restore(handle, tic_data_is_in_place(handle));
}

void tic_data_restore_reads_locked(struct starpu_task *task)
{
    unsigned count = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < count; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (STARPU_TASK_GET_MODE(task, i) & STARPU_R && tic_handle_has_content(handle))
            tic_data_restore_locked(handle, true);
    }
}

/* ---- a handle leaves that shares memory with others ------------------------------------------ */

static bool stays_restored(const struct tic_handle *member)
{
    return member->data && member->restart.restored && !member->packer;
}

/* The smallest member that stays and has all memory of the leaving one; NULL: none. */
static struct tic_handle *find_container(const struct tic_handle *leaving)
{
    struct tic_handle *smallest = NULL;

    for (unsigned long i = 0; i < leaving->listing.overlap_count; i++) {
        struct tic_handle *member = leaving->listing.overlaps[i];
        if (stays_restored(member) && tic_family_covers(&member->layout, &leaving->layout) &&
            (!smallest ||
             tic_shape_bytes(&member->layout.shape) < tic_shape_bytes(&smallest->layout.shape)))
            smallest = member;
    }
    return smallest;
}

/* A member that stays would be restored after the leaving one, from an older value. Its memory
 * holds both now. */
static void cover(struct tic_handle *member, const struct tic_handle *leaving)
{
    if (!stays_restored(member) ||
        member->saving.current.version >= leaving->saving.current.version)
        return;
    int status =
        tic_snapshot_take_memory(&tic_session->snapshot, member, leaving->saving.current.version);
    if (status)
        tic_stop(
            TIC_EXIT_REFUSED, "cannot keep data %llu%s (number of registration) in the replay: %s",
            (unsigned long long)member->id, tic_name_of(member->id), tic_snapshot_reason(status));
}

/* The value of one member that covers the leaving one is enough: it is the last to be restored. */
static void cover_leaving(const struct tic_handle *leaving)
{
    struct tic_handle *container = find_container(leaving);

    if (container)
        cover(container, leaving);
    for (unsigned long i = 0; !container && i < leaving->listing.overlap_count; i++)
        cover(leaving->listing.overlaps[i], leaving);
}

/* Before main() has come to the recovered cut those that stay in the family are given back again,
 * with all others. */
void tic_data_restore_leaving(struct tic_handle *handle)
{
    struct tic_family *family = handle->family;

    tic_lock(&tic_session->submit);
    tic_data_restore_now_locked(handle, true);
    tic_unlock(&tic_session->submit);
    if (!family || !tic_position_is_ahead())
        return;
    if (handle->restart.restored)
        cover_leaving(handle);
    tic_lock(&tic_session->submit);
    for (unsigned long i = 0; i < family->count; i++)
        if (family->members[i] != handle && family->members[i]->data &&
            tic_handle_put_off(family->members[i]))
            family->pending = true;
    tic_unlock(&tic_session->submit);
}
