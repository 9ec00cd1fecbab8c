/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of data: those of a plan, whose memory all share, and those that stand in for the whole. */
#include "interpose/partition.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/names.h"
#include "graph/family.h"
#include "interpose/access_callback.h"
#include "interpose/addresses.h"
#include "session/context.h"
#include "interpose/data.h"
#include "interpose/ending.h"
#include "interpose/exclude.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/movable.h"
#include "interpose/record.h"
#include "interpose/redux.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "interpose/unregister.h"
#include "session/uses.h"
#include "real/real.h"

/* ---- planned partitions --------------------------------------------------------------------- */

static const char *why_no_plan(const struct tic_handle *parent)
{
    if (!parent || !tic_session_is_owner())
        return "partitions planned by a task or a callback are not protected yet";
    if (tic_nodes_several)
        return "planned partitions are not protected yet where StarPU has several memory nodes";
    if (parent->home_node < 0)
        return "planned partitions of data without a home node are not protected yet";
    if (tic_handle_is_excluded(parent))
        return "planned partitions of data that no recovery line holds (starpu_tic_data_exclude) "
               "are not protected yet";
    if (!parent->supported || tic_handle_is_empty(parent) || parent->packer || parent->parent)
        return "planned partitions of data that cannot be saved yet, or that is itself a part made "
               "by starpu_data_partition, are not protected yet";
    return NULL;
}

void tic_data_on_plan_after(starpu_data_handle_t data, starpu_data_handle_t *parts, unsigned count)
{
    struct tic_handle *parent = tic_handle_of(data);
    struct tic_handle **children = calloc(count ? count : 1, sizeof(struct tic_handle *));

    TIC_LINT(note, TIC_LINT_PLANNED, parent);
    if (parent)
        tic_callback_access_refuse_open(parent, "starpu_data_partition_plan");
    const char *why = children ? why_no_plan(parent) : "out of memory";

    for (unsigned i = 0; i < count && !why; i++) {
        children[i] = tic_data_add(parts[i], parent->home_node, parent);
        if (!children[i])
            why = "out of memory";
        else if (!children[i]->supported || tic_handle_is_empty(children[i]) || children[i]->packer)
            why = "planned partitions into data that cannot be saved yet are not protected yet";
        else
            tic_redux_inherit(children[i], parent);
    }
    for (unsigned i = 0; i < count && !why; i++)
        tic_looks_add(children[i]);
    if (!why && tic_family_join(&tic_session->graph, parent, children, count) != 0)
        why = "out of memory";
    if (why)
        tic_session_unprotect_now(tic_session_place("starpu_data_partition_plan"), why);
    else
        tic_data_prune(parent->family);
    free(children);
}

/* Their values stay in the graph, as parts of the root's, until it was written whole again. */
void tic_data_on_clean_before(starpu_data_handle_t *parts, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct tic_handle *part = tic_handle_of(parts[i]);
        if (!part)
            continue;
        tic_data_forget(parts[i]);
        tic_redux_drop(part);
        tic_data_leave(part);
        part->data = NULL;
    }
}

/* ---- partition ------------------------------------------------------------------------------ */

/* Is the handle whole again at the recovered cut? */
static bool is_over(const struct tic_handle *handle)
{
    return tic_session->recovered &&
           (tic_data_is_past_part(handle) ||
            tic_graph_expects_unpartition(&tic_session->graph, handle->id));
}

/* Data without a home node has its memory from StarPU, which keeps it as long as there are parts:
 * these have a home. In a restart the tasks that would have had it allocated may all be skipped,
 * and StarPU wants the parts to be either all initialized or none. */
static void have_memory(struct tic_handle *handle)
{
    if (handle->home_node < 0 && tic_session->recovered)
        tic_data_wait(handle);
    tic_handle_locate_homeless(handle);
}

void tic_data_on_partition_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!handle || !tic_session_is_owner() || handle->family || handle->movable.may ||
        (handle->home_node < 0 && (!handle->is_value || handle->packer))) {
        tic_session_unprotect_now(
            tic_session_place("starpu_data_partition"),
            handle && handle->movable.may ? "partitions of data without a home node are not "
                                            "protected yet where StarPU has a disk"
            : handle && handle->family
                ? "partitions of data whose memory other handles share are not protected yet"
            : handle && tic_session_is_owner()
                ? "partitions of data without a home node that is packed are not protected yet"
                : "partitions made by a task or a callback are not protected yet");
        return;
    }
    tic_callback_access_settle(handle);
    handle->use.was_partitioned = true;
    if (!handle->use.mentioned)
        tic_addresses_note(handle);
    if (tic_handle_is_excluded(handle)) { /* its parts are, too: there is no value */
        have_memory(handle);
        return;
    }
    if (is_over(handle)) { /* the value is from later: until then main() may write what it likes */
        handle->restart.partition_over = true;
        tic_handle_put_off(handle);
        have_memory(handle);
        return;
    }
    have_memory(handle);
    if (tic_data_holds_values(handle)) {
        tic_record_acquired(handle, false);
        tic_data_restore(handle, true); /* else the value is one from after the partition */
    }
    if (tic_data_has_task_values(handle)) {
        tic_data_wait(handle);
        tic_movable_close(handle);
        tic_snapshot_save_now(&tic_session->snapshot, handle);
    }
}

/* Then what main() has put into it need not be saved twice. */
static bool parts_hold_all(const struct tic_handle *parent)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < parent->child_count; i++)
        bytes +=
            parent->children[i]->imaged ? tic_shape_bytes(&parent->children[i]->layout.shape) : 0;
    return parent->imaged && bytes == tic_shape_bytes(&parent->layout.shape);
}

void tic_data_on_partition_after(starpu_data_handle_t data)
{
    struct tic_handle *parent = tic_handle_of(data);
    unsigned count = (unsigned)tic_real.starpu_data_get_nb_children(data);

    if (!parent)
        return;
    TIC_LINT(note, TIC_LINT_PARTITIONED, parent);
    tic_handle_locate_homeless(parent); /* StarPU may have allocated it now */
    atomic_store(&parent->saving.split, true);

    parent->children = calloc(count ? count : 1, sizeof(struct tic_handle *));
    for (unsigned i = 0; parent->children && i < count; i++) {
        struct tic_handle *child =
            tic_data_add(tic_real.starpu_data_get_child(data, i), STARPU_MAIN_RAM, parent);
        if (!child)
            return;
        child->parent = parent;
        if (tic_handle_is_excluded(parent))
            tic_exclude_now(child);
        child->use.derived = tic_data_holds_values(parent);
        child->use.invalid = parent->use.invalid;
        tic_data_take_content(child);
        tic_redux_inherit(child, parent);
        parent->children[parent->child_count++] = child;
    }
    if (!parent->children)
        tic_session_unprotect("starpu_data_partition", "out of memory");
    else if (parts_hold_all(parent))
        tic_snapshot_leave_content(&tic_session->snapshot, parent);
}

static void end_children(struct tic_handle *parent)
{
    for (unsigned i = 0; i < parent->child_count; i++) {
        end_children(parent->children[i]);
        tic_redux_drop(parent->children[i]);
    }
}

/* Bottom up: every child is complete, then it leaves the graph. True when tasks wrote any. */
static bool gather(struct tic_handle *parent, bool noted)
{
    bool changed = false, written = false;

    for (unsigned i = 0; i < parent->child_count; i++) {
        struct tic_handle *child = parent->children[i];
        bool inner = child->child_count > 0;
        if (inner)
            gather(child, false);
        tic_data_restore(child, inner);
        if ((tic_data_has_task_values(child) || child->use.mentioned) && !inner)
            tic_data_wait(child);
        tic_movable_close(child);
        changed |= atomic_load(&child->saving.version) > 0;
        written |= child->use.submitted_writes > 0;
        tic_data_forget(child->data);
        tic_data_leave(child);
    }
    changed &= !parent->restart.partition_over;
    tic_snapshot_merge(&tic_session->snapshot, parent, changed, noted);
    if (parent->imaged && !parent->restart.pending) /* if it has no value that a line may hold */
        tic_snapshot_adopt_content(&tic_session->snapshot, parent);
    atomic_store(&parent->saving.split, false);
    free(parent->children);
    parent->children = NULL;
    parent->child_count = 0;
    parent->restart.partition_over = false;
    parent->use.submitted_writes += written;
    if (written) {
        parent->use.invalid = false;
        tic_looks_note_write(parent);
    }
    return changed;
}

/* True when it is in the recovered cut. */
static bool replay_unpartition(const struct tic_handle *handle)
{
    const struct tic_line_acquire *known = tic_graph_replay_acquire(&tic_session->graph);

    if (known && (known->id != handle->id || known->writes != TIC_ACQUIRE_UNPARTITION))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: main() unpartitions handle %llu%s, and "
                 "used handle %llu%s in the recorded run",
                 (unsigned long long)handle->id, tic_name_of(handle->id),
                 (unsigned long long)known->id, tic_name_of(known->id));
    return known != NULL;
}

void tic_data_on_unpartition_before(starpu_data_handle_t data)
{
    struct tic_handle *parent = tic_handle_of(data);
    if (parent && parent->child_count > 0) {
        bool noted = tic_handle_is_excluded(parent) || replay_unpartition(parent);
        end_children(parent);
        gather(parent, !noted);
    }
}

/* main() may read the parent's memory from now on. */
void tic_data_on_unpartition_after(starpu_data_handle_t data)
{
    struct tic_handle *parent = tic_handle_of(data);
    if (parent)
        tic_movable_open(parent);
    if (parent && !parent->parent && tic_data_holds_values(parent))
        tic_data_restore(parent, true);
}
