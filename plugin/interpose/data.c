/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the application: registration, partition, what main() gets back, restoring values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "graph/family.h"
#include "interpose/report.h"
#include "interpose/tasks.h"

/* ---- layout --------------------------------------------------------------------------------- */

static void set_layout(struct tic_layout *layout, uintptr_t base, size_t element_size,
                       unsigned ndim, const uint64_t *dims, const uint64_t *strides)
{
    memset(layout, 0, sizeof(*layout));
    layout->base = (char *)base;
    layout->shape.element_size = (uint32_t)element_size;
    layout->shape.ndim = ndim;
    for (unsigned i = 0; i < TIC_MAX_DIMS; i++) {
        layout->shape.dims[i] = i < ndim ? dims[i] : 1;
        layout->stride[i] = i < ndim ? strides[i] : 0;
        if (layout->shape.dims[i] == 0)
            layout->shape.ndim = 0; /* nothing in it */
    }
}

bool tic_interface_layout(enum starpu_data_interface_id id, const void *interface,
                          struct tic_layout *layout)
{
    const struct starpu_variable_interface *variable = interface;
    const struct starpu_vector_interface *vector = interface;
    const struct starpu_matrix_interface *matrix = interface;
    const struct starpu_block_interface *block = interface;
    const uint64_t one = 1;

    switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID:
        set_layout(layout, variable->ptr, variable->elemsize, 1, &one, &one);
        return true;
    case STARPU_VECTOR_INTERFACE_ID:
        set_layout(layout, vector->ptr, vector->elemsize, 1, (uint64_t[]){vector->nx}, &one);
        return true;
    case STARPU_MATRIX_INTERFACE_ID:
        set_layout(layout, matrix->ptr, matrix->elemsize, 2, (uint64_t[]){matrix->nx, matrix->ny},
                   (uint64_t[]){1, matrix->ld});
        return true;
    case STARPU_BLOCK_INTERFACE_ID:
        set_layout(layout, block->ptr, block->elemsize, 3,
                   (uint64_t[]){block->nx, block->ny, block->nz},
                   (uint64_t[]){1, block->ldy, block->ldz});
        return true;
    case STARPU_VOID_INTERFACE_ID:
        memset(layout, 0, sizeof(*layout));
        return true;
    default:
        return false;
    }
}

void tic_handle_locate(struct tic_handle *handle, void *interface)
{
    struct tic_layout layout;

    if (!handle->supported || tic_handle_is_empty(handle) || handle->packer)
        return;
    tic_interface_layout(tic_real.starpu_data_get_interface_id(handle->data), interface, &layout);
    if (handle->layout.base == layout.base && handle->layout.stride[1] == layout.stride[1] &&
        handle->layout.stride[2] == layout.stride[2])
        return; /* others may be reading them */
    handle->layout.base = layout.base;
    memcpy(handle->layout.stride, layout.stride, sizeof(layout.stride));
}

/* The program is about to give it back to StarPU, where tasks may end that have used it. */
static void leave(struct tic_handle *handle)
{
    tic_lock(&handle->lock);
    handle->leaves = true;
    tic_unlock(&handle->lock);
    tic_looks_remove(handle);
}

static bool has_its_shape(struct tic_handle *handle)
{
    struct tic_layout layout;
    bool same = true;

    if (!handle->is_value || handle->packer)
        return true;
    tic_lock(&handle->lock);
    if (!handle->leaves &&
        tic_interface_layout(
            tic_real.starpu_data_get_interface_id(handle->data),
            tic_real.starpu_data_get_interface_on_node(handle->data, STARPU_MAIN_RAM), &layout))
        same = tic_shape_equal(&layout.shape, &handle->layout.shape);
    tic_unlock(&handle->lock);
    return same;
}

static void refuse_shape(const char *task)
{
    static const char why[] =
        "it changes the size of its data (nx, ny ...), which is not protected "
        "yet: a restart that skips it would not";

    static _Atomic bool reported; /* the shape stays another one */

    if (tic_session->report && !atomic_exchange(&reported, true))
        tic_report_problem(tic_session->report, task, why);
    else if (!tic_session->report)
        tic_snapshot_break(&tic_session->snapshot, "%s: %s", task, why);
}

void tic_data_check_shapes(const struct starpu_task *task, const struct tic_slot *slot)
{
    for (unsigned long i = 0; i < slot->writing.count; i++)
        if (__builtin_expect(!has_its_shape(slot->writing.items[i]), 0))
            refuse_shape(tic_task_name(task));
}

/* ---- registration --------------------------------------------------------------------------- */

static struct tic_handle *add_handle(starpu_data_handle_t data, int home_node)
{
    struct tic_handle *handle = tic_graph_add_handle(&tic_session->graph);

    if (!handle) {
        tic_session_unprotect("starpu_data_register", "out of memory");
        return NULL;
    }
    handle->data = data;
    handle->home_node = home_node;
    handle->invalid = home_node < 0;
    unsigned node = home_node >= 0 ? (unsigned)home_node : STARPU_MAIN_RAM;
    handle->supported = tic_interface_layout(tic_real.starpu_data_get_interface_id(data),
                                             tic_real.starpu_data_get_interface_on_node(data, node),
                                             &handle->layout) ||
                        tic_pack_supports(handle);
    handle->empty = handle->layout.shape.ndim == 0;
    handle->is_value = handle->supported && !handle->empty;
    handle->imaged = home_node >= 0 && handle->is_value && !handle->packer &&
                     tic_session->snapshot.verify.percent > 0;
    handle->signed_size = handle->packer ? 0 : tic_shape_bytes(&handle->layout.shape);
    tic_real.starpu_data_set_user_data(data, handle);
    tic_data_remember(data, handle);
    tic_report_register(tic_session->report, handle);
    tic_record_registered(handle);
    struct tic_graph *graph = &tic_session->graph;
    if (handle->pending && tic_spawns_has_kept(&graph->spawns) &&
        tic_spawns_was_written(&graph->spawns, handle->id, graph->signature.position))
        handle->submitted_writes++;
    return handle;
}

/* main() may have put something there, and may go on with that until a task mentions it. */
static void take_content(struct tic_handle *handle)
{
    if (handle->imaged)
        tic_snapshot_adopt_content(&tic_session->snapshot, handle);
    tic_looks_add(handle);
}

/* StarPU does not know that others have the memory, too; to protection it is the value of all. */
static bool changed_meanwhile(const struct tic_handle *handle)
{
    const struct tic_family *family = handle->family;
    const struct tic_departure *left = family ? &family->left : NULL;
    bool replays = tic_session->recovered && !tic_session_is_replayed(tic_session);

    return left && !replays && left->layout.base == handle->layout.base &&
           left->submitted_writes == family->submitted_writes &&
           memcmp(&left->layout, &handle->layout, sizeof(left->layout)) == 0 &&
           left->checksum != tic_layout_checksum(&handle->layout);
}

void tic_data_on_register_after(starpu_data_handle_t data, int home_node)
{
    if (!tic_session_is_owner()) {
        tic_session_unprotect(tic_session_place("starpu_data_register"),
                              "data registered by a task, a callback or another thread is not "
                              "protected yet");
        return;
    }
    struct tic_handle *handle = add_handle(data, home_node);
    if (handle)
        take_content(handle);
    if (!handle || home_node < 0 || !handle->supported || tic_handle_is_empty(handle) ||
        handle->packer)
        return;
    int status = tic_family_meet(&tic_session->graph, handle);
    if (status)
        tic_session_unprotect("starpu_data_register",
                              status == -ENOTSUP
                                  ? "memory that overlaps two groups of other registered data "
                                    "is not protected yet"
                                  : "out of memory");
    else if (changed_meanwhile(handle))
        tic_session_unprotect("starpu_data_register",
                              "memory that main() changes while other data has it, too, is not "
                              "protected yet");
}

void tic_data_wait(struct tic_handle *handle)
{
    int node = handle->home_node >= 0 ? handle->home_node : STARPU_MAIN_RAM;

    /* For writing: readers must have ended, too, and StarPU refuses to read invalid data. On one
     * memory node this changes nothing in the data. */
    tic_guard++;
    if (tic_real.starpu_data_acquire_on_node(handle->data, node, STARPU_W) == 0)
        tic_real.starpu_data_release_on_node(handle->data, node);
    tic_guard--;
}

/* Its accumulators leave the graph before it does. */
static void end_helpers(struct tic_handle *handle)
{
    if (handle->redux)
        tic_redux_drop(handle);
    tic_order_forget(handle);
}

static bool has_task_values(const struct tic_handle *handle)
{
    uint64_t writes = handle->family ? handle->family->submitted_writes : handle->submitted_writes;
    return writes > 0 && !tic_handle_is_empty(handle);
}

static bool is_last(const struct tic_handle *handle, const struct tic_family *family)
{
    for (unsigned long i = 0; i < family->count; i++)
        if (family->members[i]->data && family->members[i] != handle)
            return false;
    return true;
}

static void prune(struct tic_family *family)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (!tic_family_prune(snapshot->graph, family, tic_snapshot_epoch(snapshot)))
        tic_snapshot_break(snapshot, "out of memory");
}

/* A member leaves; the values of all stay until the last one does. What main() gets back is saved
 * before it may change. */
static void leave_family(struct tic_handle *handle, bool pinned)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_family *family = handle->family;

    handle->data = NULL;
    handle->given_back = pinned;
    if (!is_last(handle, family)) {
        if (pinned && !family->planned)
            tic_snapshot_save_now(snapshot, handle);
        return;
    }
    if (family->planned && handle == family->root) {
        if (tic_family_is_stale(snapshot->graph, handle)) /* its memory is the value of all */
            tic_snapshot_touch(snapshot, handle);
        prune(family);
    }
    for (unsigned long i = family->count; i-- > 0;) /* the family goes with its root, the first */
        tic_snapshot_remove(snapshot, family->members[i],
                            family->planned ? pinned : family->members[i]->given_back);
}

/* Has every task that uses it ended? False when it cannot be told without waiting. For writing: see
 * tic_data_wait. */
static bool is_at_rest(const struct tic_handle *handle)
{
    if (tic_session->explicit_dependencies ||
        !tic_real.starpu_data_get_sequential_consistency_flag(handle->data))
        return false;
    tic_guard++;
    bool rests =
        tic_real.starpu_data_acquire_on_node_try(handle->data, handle->home_node, STARPU_W) == 0;
    if (rests)
        tic_real.starpu_data_release_on_node(handle->data, handle->home_node);
    tic_guard--;
    return rests;
}

/* main() gets back what others keep: if it changes it, nobody can tell them. */
static void note_departure(const struct tic_handle *handle)
{
    struct tic_family *family = handle->family;
    bool rests = !family->pending && !family->has_plans;
    bool idle = tic_real.starpu_task_nsubmitted() == 0; /* spares the same memory many questions */

    for (unsigned long i = 0; i < handle->overlap_count && rests; i++) {
        const struct tic_handle *other = handle->overlaps[i];
        rests = !other->data || (idle ? other->holds == 0 : is_at_rest(other));
    }
    family->left.layout.base = NULL;
    if (rests && tic_layout_is_mapped(&handle->layout))
        family->left = (struct tic_departure){handle->layout, tic_layout_checksum(&handle->layout),
                                              family->submitted_writes};
}

/* Why it cannot leave the graph now, or NULL. */
static const char *why_not_unregister(void)
{
    return tic_session_is_owner()
               ? NULL
               : "data unregistered by a callback, a task or another thread is not protected yet";
}

/* Can tasks of this run hold it? Without a home node, a handle whose writers were all skipped holds
 * nothing to wait for. */
static bool can_be_held(const struct tic_handle *handle)
{
    return !handle->pending &&
           (handle->home_node >= 0 || handle->live || tic_handle_is_empty(handle));
}

/* Hooks of tasks look at its record, also of those that only read, or that use data without
 * content. */
static bool is_in_use(const struct tic_handle *handle)
{
    return (handle->mentioned || has_task_values(handle)) && can_be_held(handle);
}

/* main() may read its memory from then on. Tasks may have written there without saying so. */
static bool is_pinned(const struct tic_handle *handle)
{
    return handle->imaged || (handle->home_node >= 0 && has_task_values(handle));
}

void tic_data_on_unregister_before(starpu_data_handle_t data, bool coherent)
{
    struct tic_handle *handle = tic_handle_of(data);
    const char *why = why_not_unregister();

    if (why && tic_early_holds()) /* tasks that wait for main() may use it: the restart stops */
        tic_session_unprotect_now(tic_session_place("starpu_data_unregister"), why);
    tic_data_forget(data);
    if (!handle)
        return;
    if (why) {
        tic_session_unprotect(tic_session_place("starpu_data_unregister"), why);
        tic_data_bring_up(handle);
        leave(handle);
        tic_lock(&tic_session->submit);
        handle->data = NULL; /* it has left */
        tic_unlock(&tic_session->submit);
        return;
    }
    tic_record_unregistered(handle);
    leave(handle);
    tic_order_wait(handle, true);
    end_helpers(handle);
    bool pinned = coherent && is_pinned(handle);
    if (pinned)
        tic_data_restore_leaving(handle);
    if (is_in_use(handle))
        tic_data_wait(handle);
    tic_family_part(&tic_session->graph, handle);
    if (pinned && handle->family && !handle->family->planned)
        note_departure(handle);
    if (handle->family)
        leave_family(handle, pinned);
    else
        tic_snapshot_remove(&tic_session->snapshot, handle, pinned);
}

/* All tasks that use it have ended. */
static void leave_later(void *arg)
{
    struct tic_handle *handle = arg;
    starpu_data_handle_t data = handle->data;

    tic_snapshot_remove(&tic_session->snapshot, handle, is_pinned(handle));
    tic_guard++;
    tic_real.starpu_data_release_on_node(data, STARPU_MAIN_RAM);
    tic_guard--;
}

/* All tasks that use it have ended. Readers that a cut does not hold may still need the value. */
static void lose_value(void *arg)
{
    struct tic_handle *handle = arg;

    if (tic_snapshot_hold(&tic_session->snapshot, handle, NULL) != 0)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
    tic_guard++;
    tic_real.starpu_data_release_on_node(handle->data, STARPU_MAIN_RAM);
    tic_guard--;
}

void tic_data_on_invalidate_before(struct tic_handle *handle)
{
    if (handle->home_node >= 0 || !has_task_values(handle) || !can_be_held(handle))
        return;
    tic_guard++;
    int status = tic_real.starpu_data_acquire_on_node_cb(handle->data, STARPU_MAIN_RAM, STARPU_W,
                                                         lose_value, handle);
    tic_guard--;
    if (status)
        tic_session_unprotect("starpu_data_invalidate", "StarPU gives no access to it");
}

void tic_data_on_unregister_submit_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    tic_data_forget(data);
    if (!handle || why_not_unregister() || handle->family) {
        tic_data_on_unregister_before(data, true);
        return;
    }
    leave(handle);
    if (is_pinned(handle))
        tic_data_restore_leaving(handle);
    if (!is_in_use(handle)) {
        tic_data_on_unregister_before(data, true);
        return;
    }
    end_helpers(handle);
    tic_family_part(&tic_session->graph, handle);
    tic_guard++;
    int status = tic_real.starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, STARPU_W,
                                                         leave_later, handle);
    tic_guard--;
    if (status)
        tic_session_unprotect("starpu_data_unregister_submit", "StarPU gives no access to it");
}

/* Those that nobody has unregistered: StarPU frees the memory of what has no home when it shuts
 * down. */
static void list_left_over(struct tic_handle_list *list)
{
    struct tic_graph *graph = &tic_session->graph;
    bool fine = true;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && fine; i++) {
        struct tic_handle *handle = graph->handles[i];
        if (handle->data && handle->gone_since == 0 && handle->home_node < 0 && !handle->parent &&
            handle->child_count == 0 && !handle->accumulates)
            fine = tic_handle_append(list, handle);
    }
    tic_unlock(&graph->lock);
    if (!fine)
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
}

void tic_data_leave_all(void)
{
    struct tic_handle_list list = {NULL, 0, 0};

    list_left_over(&list);
    for (unsigned long i = 0; i < list.count; i++)
        tic_data_on_unregister_before(list.items[i]->data, true);
    free(list.items);
}

/* ---- planned partitions --------------------------------------------------------------------- */

static const char *why_no_plan(const struct tic_handle *parent)
{
    if (!parent || !tic_session_is_owner())
        return "partitions planned by a task or a callback are not protected yet";
    if (parent->home_node < 0)
        return "planned partitions of data without a home node are not protected yet";
    if (!parent->supported || tic_handle_is_empty(parent) || parent->packer || parent->parent)
        return "planned partitions of data that cannot be saved yet, or that is itself a part made "
               "by starpu_data_partition, are not protected yet";
    return NULL;
}

void tic_data_on_plan_after(starpu_data_handle_t data, starpu_data_handle_t *parts, unsigned count)
{
    struct tic_handle *parent = tic_handle_of(data);
    struct tic_handle **children = calloc(count ? count : 1, sizeof(struct tic_handle *));

    tic_report_partition(tic_session->report, true);
    const char *why = children ? why_no_plan(parent) : "out of memory";

    for (unsigned i = 0; i < count && !why; i++) {
        children[i] = add_handle(parts[i], parent->home_node);
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
        prune(parent->family);
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
        tic_redux_fold(part);
        end_helpers(part);
        leave(part);
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

void tic_data_on_partition_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!handle || !tic_session_is_owner() || handle->home_node < 0 || handle->family) {
        tic_session_unprotect_now(
            tic_session_place("starpu_data_partition"),
            handle && handle->family
                ? "partitions of data whose memory other handles share are not protected yet"
            : handle && handle->home_node < 0
                ? "partitions of data without a home node are not protected yet"
                : "partitions made by a task or a callback are not protected yet");
        return;
    }
    tic_order_wait(handle, true);
    handle->was_partitioned = true;
    if (!handle->mentioned)
        tic_addresses_note(handle);
    if (is_over(handle)) { /* the value is from later: until then main() may write what it likes */
        handle->partition_over = true;
        tic_handle_put_off(handle);
        return;
    }
    if (tic_data_holds_values(handle)) {
        tic_record_acquired(handle, true, false);
        tic_data_restore(handle, true); /* else the value is one from after the partition */
    }
    if (has_task_values(handle)) {
        tic_data_wait(handle);
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
    tic_report_partition(tic_session->report, false);
    atomic_store(&parent->split, true);

    parent->children = calloc(count ? count : 1, sizeof(struct tic_handle *));
    for (unsigned i = 0; parent->children && i < count; i++) {
        struct tic_handle *child =
            add_handle(tic_real.starpu_data_get_child(data, i), parent->home_node);
        if (!child)
            return;
        child->parent = parent;
        child->derived = tic_data_holds_values(parent);
        child->invalid = parent->invalid;
        take_content(child);
        tic_redux_inherit(child, parent);
        parent->children[parent->child_count++] = child;
    }
    if (!parent->children)
        tic_session_unprotect("starpu_data_partition", "out of memory");
    else if (parts_hold_all(parent))
        tic_snapshot_leave_content(&tic_session->snapshot, parent);
}

static void fold_children(struct tic_handle *parent)
{
    for (unsigned i = 0; i < parent->child_count; i++) {
        fold_children(parent->children[i]);
        tic_redux_fold(parent->children[i]);
        tic_order_wait(parent->children[i], true);
        end_helpers(parent->children[i]);
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
        if ((has_task_values(child) || child->mentioned) && !inner)
            tic_data_wait(child);
        changed |= atomic_load(&child->version) > 0;
        written |= child->submitted_writes > 0;
        tic_data_forget(child->data);
        leave(child);
    }
    changed &= !parent->partition_over;
    tic_snapshot_merge(&tic_session->snapshot, parent, changed, noted);
    if (parent->imaged && !parent->pending) /* if it has no value that a line may hold */
        tic_snapshot_adopt_content(&tic_session->snapshot, parent);
    atomic_store(&parent->split, false);
    free(parent->children);
    parent->children = NULL;
    parent->child_count = 0;
    parent->partition_over = false;
    parent->submitted_writes += written;
    if (written) {
        parent->invalid = false;
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
                 "the replay differs from the recorded run: main() unpartitions handle %llu, and "
                 "used handle %llu in the recorded run",
                 (unsigned long long)handle->id, (unsigned long long)known->id);
    return known != NULL;
}

void tic_data_on_unpartition_before(starpu_data_handle_t data)
{
    struct tic_handle *parent = tic_handle_of(data);
    if (parent && parent->child_count > 0) {
        bool noted = replay_unpartition(parent);
        fold_children(parent);
        gather(parent, !noted);
    }
}

/* main() may read the parent's memory from now on. */
void tic_data_on_unpartition_after(starpu_data_handle_t data)
{
    struct tic_handle *parent = tic_handle_of(data);
    if (parent && !parent->parent && tic_data_holds_values(parent))
        tic_data_restore(parent, true);
}

/* ---- what was used and written ---------------------------------------------------------------*/

void tic_data_note_main_use_of_overlaps(struct tic_handle *handle, bool writes,
                                        uint64_t submissions)
{
    for (unsigned long i = 0; i < handle->overlap_count; i++)
        *(writes ? &handle->overlaps[i]->main_written : &handle->overlaps[i]->main_read) =
            submissions;
}

void tic_data_note_family_write(struct tic_handle *handle, bool live)
{
    struct tic_family *family = handle->family;

    tic_data_note_valid(handle);
    family->submitted_writes++;
    family->live |= live;
}

void tic_data_note_valid(struct tic_handle *handle)
{
    if (!handle)
        return;
    atomic_store_explicit(&handle->invalid, false, memory_order_relaxed);
    if (!handle->family)
        return;
    tic_lock(&tic_session->graph.lock); /* any thread */
    for (unsigned long i = 0; i < handle->overlap_count; i++)
        atomic_store_explicit(&handle->overlaps[i]->invalid, false, memory_order_relaxed);
    tic_unlock(&tic_session->graph.lock);
}

_Noreturn void tic_data_stop_input(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "the input of this run differs: handle %llu (number of registration) held other "
             "data in the recorded run when a task first read it. Start with the same input to "
             "continue; or start over: name another STARPU_TIC_DIR, or remove %s. If the "
             "content does not matter, STARPU_TIC_INPUTS=ignore skips this check",
             (unsigned long long)handle->id, tic_session->store.path);
}

/* The handle in whose value the line holds that of this one: a part has none of its own when its
 * partition is over in the recovered cut. */
static const struct tic_handle *holder_of(const struct tic_handle *handle)
{
    while (tic_data_is_past_part(handle))
        handle = handle->parent;
    return handle;
}

/* The line holds what it held then, or what came of that, and gives it back before any task that
 * was not done runs. */
static bool is_saved(struct tic_handle *handle)
{
    const struct tic_handle *holder = holder_of(handle);

    handle->differs = tic_session->settings.inputs == TIC_INPUTS_SAVE && tic_position_is_ahead() &&
                      holder->imaged && tic_data_is_pending(holder);
    return handle->differs;
}

static void tell_input(const struct tic_handle *handle)
{
    static bool told; /* under the submission lock */

    if (!told)
        tic_log(TIC_LOG_INFO,
                "data %llu (number of registration) held other content in the recorded run when a "
                "task first read it: the restart goes on with what was recorded, not with the "
                "input of this run",
                (unsigned long long)handle->id);
    told = true;
}

void tic_data_note_use(struct tic_handle *handle, bool reads)
{
    struct tic_session *session = tic_session;

    /* At its first mention no task can be writing it. */
    if (handle->mentioned)
        return;
    handle->mentioned = true;
    tic_addresses_note(handle);
    if (!reads || !session->settings.inputs || tic_data_holds_values(handle) ||
        handle->restored || /* the line holds it, whatever main() has put there */
        handle->shown ||    /* a callback may submit it later than it did */
        handle->home_node < 0 || !handle->supported || tic_handle_is_empty(handle) ||
        handle->packer)
        return;
    uint64_t hash = tic_layout_checksum(&handle->layout);
    uint64_t known = tic_tail_total(&session->graph.inputs);
    int status = tic_graph_note_input(&session->graph, handle->id, hash,
                                      atomic_load(&session->snapshot.cut.epoch));
    if (status == 0 && tic_tail_total(&session->graph.inputs) > known)
        tic_record_input(handle, hash);
    if (status == -EILSEQ && is_saved(handle)) {
        tell_input(handle);
        return;
    }
    if (status == -EILSEQ)
        tic_data_stop_input(handle);
    if (status)
        tic_snapshot_break(&session->snapshot, "out of memory");
}
