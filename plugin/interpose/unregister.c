/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data leaves: main() gets its memory back. */
#include "interpose/unregister.h"

#include <stdlib.h>

#include "graph/family.h"
#include "replay/replay.h"
#include "session/context.h"
#include "interpose/access_callback.h"
#include "interpose/data.h"
#include "interpose/ending.h"
#include "interpose/looks.h"
#include "interpose/movable.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/record.h"
#include "interpose/redo_values.h"
#include "interpose/redux.h"
#include "interpose/release.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"

static bool is_last(const struct tic_handle *handle, const struct tic_family *family)
{
    for (unsigned long i = 0; i < family->count; i++)
        if (family->members[i]->data && family->members[i] != handle)
            return false;
    return true;
}

/* A member leaves; the values of all stay until the last one does. What main() gets back is saved
 * before it may change. */
static void leave_family(struct tic_handle *handle, bool pinned)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_family *family = handle->family;

    handle->data = NULL;
    handle->use.given_back = pinned;
    if (!is_last(handle, family)) {
        if (pinned && !family->planned)
            tic_snapshot_save_now(snapshot, handle);
        return;
    }
    if (family->planned && handle == family->root) {
        if (tic_family_is_stale(snapshot->graph, handle)) /* its memory is the value of all */
            tic_snapshot_touch(snapshot, handle);
        tic_data_prune(family);
    }
    for (unsigned long i = family->count; i-- > 0;) /* the family goes with its root, the first */
        tic_snapshot_remove(snapshot, family->members[i],
                            family->planned ? pinned : family->members[i]->use.given_back);
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
        tic_release(handle->data, handle->home_node);
    tic_guard--;
    return rests;
}

/* main() gets back what others keep: if it changes it, nobody can tell them. */
static void note_departure(const struct tic_handle *handle)
{
    struct tic_family *family = handle->family;
    bool rests = !family->pending && !family->has_plans;
    bool idle = tic_real.starpu_task_nsubmitted() == 0; /* spares the same memory many questions */

    for (unsigned long i = 0; i < handle->listing.overlap_count && rests; i++) {
        const struct tic_handle *other = handle->listing.overlaps[i];
        rests = !other->data || (idle ? other->use.holds == 0 : is_at_rest(other));
    }
    family->left.layout.base = NULL;
    if (rests && tic_handle_is_there(handle))
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
    return !handle->restart.pending &&
           (handle->home_node >= 0 || handle->restart.live || tic_handle_is_empty(handle));
}

/* Hooks of tasks look at its record, also of those that only read, or that use data without
 * content. */
static bool is_in_use(const struct tic_handle *handle)
{
    return (handle->use.mentioned || tic_data_has_task_values(handle)) && can_be_held(handle);
}

/* By what a restart executes again, or by who holds it. */
static bool is_being_read(const struct tic_handle *handle)
{
    return tic_redo_is_used(handle) || atomic_load(&handle->use.holds) > 0;
}

/* main() may read its memory from then on. Tasks may have written there without saying so. */
static bool is_pinned(const struct tic_handle *handle)
{
    return handle->imaged || (handle->home_node >= 0 && tic_data_has_task_values(handle));
}

/* The program is about to give it back to StarPU, where tasks may end that have used it. */
static void begin_to_leave(struct tic_handle *handle)
{
    TIC_LINT(note, TIC_LINT_LEAVES, handle);
    tic_lock(&handle->saving.lock);
    handle->saving.leaves = true;
    tic_unlock(&handle->saving.lock);
    if (tic_nodes_several)
        tic_movable_leave(handle);
}

void tic_data_leave(struct tic_handle *handle)
{
    begin_to_leave(handle);
    tic_looks_remove(handle);
}

void tic_data_on_unregister_before(starpu_data_handle_t data, bool coherent)
{
    struct tic_handle *handle = tic_handle_of(data);
    const char *why = why_not_unregister();

    if (why && tic_replay_is_on()) /* tasks that are queued may use it: the restart stops */
        tic_session_unprotect_now(tic_session_place("starpu_data_unregister"), why);
    tic_data_forget(data);
    if (!handle)
        return;
    if (why) {
        tic_session_unprotect(tic_session_place("starpu_data_unregister"), why);
        tic_data_bring_up(handle);
        tic_data_leave(handle);
        tic_lock(&tic_session->submit);
        handle->data = NULL; /* it has left */
        tic_unlock(&tic_session->submit);
        return;
    }
    tic_callback_access_settle(handle);
    tic_record_unregistered(handle);
    begin_to_leave(handle);
    tic_redux_drop(handle);
    bool pinned = coherent && is_pinned(handle);
    if (pinned)
        tic_data_restore_leaving(handle);
    if (is_in_use(handle) || atomic_load(&handle->use.holds) > 0) /* by a callback */
        tic_data_wait(handle);
    tic_looks_remove(handle);
    bool held = (pinned || handle->movable.may) && is_in_use(handle) && tic_movable_hold(handle);
    tic_family_part(&tic_session->graph, handle);
    if (pinned && handle->family && !handle->family->planned)
        note_departure(handle);
    if (handle->family)
        leave_family(handle, pinned);
    else
        tic_snapshot_remove(&tic_session->snapshot, handle, pinned);
    if (held)
        tic_movable_drop(data);
}

/* May it be elsewhere, and is it to be saved? Then it is brought to main memory. */
static bool is_brought(const struct tic_handle *handle)
{
    return handle->movable.may || (tic_nodes_several && is_pinned(handle));
}

static int node_of_leaving(const struct tic_handle *handle)
{
    return is_brought(handle) ? STARPU_MAIN_RAM : tic_nodes_of_wait(STARPU_MAIN_RAM);
}

static enum starpu_data_access_mode mode_of_leaving(const struct tic_handle *handle)
{
    bool reads = is_brought(handle) && handle->home_node >= 0 && !atomic_load(&handle->use.invalid);

    return reads ? STARPU_RW : tic_movable_mode(handle->data, STARPU_W);
}

/* All tasks that use it have ended. */
static void leave_later(void *arg)
{
    struct tic_handle *handle = arg;
    starpu_data_handle_t data = handle->data;
    int node = node_of_leaving(handle);

    if (is_brought(handle))
        tic_movable_found(handle);
    tic_snapshot_remove(&tic_session->snapshot, handle, is_pinned(handle));
    tic_release(data, node);
}

/* All tasks that use it have ended. Readers that a cut does not hold may still need the value. */
static void lose_value(void *arg)
{
    struct tic_handle *handle = arg;

    tic_snapshot_need(&tic_session->snapshot,
                      tic_snapshot_hold(&tic_session->snapshot, handle, NULL) == 0);
    tic_release(handle->data, STARPU_MAIN_RAM);
}

void tic_data_on_invalidate_before(struct tic_handle *handle)
{
    if (handle->home_node >= 0 || !tic_data_has_task_values(handle) || !can_be_held(handle))
        return;
    tic_guard++;
    int status = tic_real.starpu_data_acquire_on_node_cb(handle->data, STARPU_MAIN_RAM, STARPU_W,
                                                         lose_value, handle);
    tic_guard--;
    if (status)
        tic_session_unprotect("starpu_data_invalidate", "StarPU gives no access to it");
}

void tic_data_part(struct tic_handle *handle)
{
    if (!handle->family && is_pinned(handle) &&
        tic_redo_may_see(handle, tic_data_recovered_value(handle).checksum, NULL, false))
        tic_data_restore_leaving(handle);
    tic_family_part(&tic_session->graph, handle);
}

bool tic_data_leaves_at_once(const struct tic_handle *handle)
{
    return handle && handle->family;
}

void tic_data_on_unregister_submit_before(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_handle_of(data);

    tic_data_forget(data);
    if (!handle || why_not_unregister() || tic_data_leaves_at_once(handle)) {
        tic_data_on_unregister_before(data, true);
        return;
    }
    tic_callback_access_refuse_open(handle, "starpu_data_unregister_submit");
    tic_data_leave(handle);
    if (is_pinned(handle) && !tic_redo_gives_back(handle))
        tic_data_restore_leaving(handle);
    if (!is_in_use(handle) && !is_being_read(handle)) {
        tic_data_on_unregister_before(data, true);
        return;
    }
    tic_redux_drop(handle);
    tic_family_part(&tic_session->graph, handle);
    tic_guard++;
    int status = tic_real.starpu_data_acquire_on_node_cb(
        data, node_of_leaving(handle), mode_of_leaving(handle), leave_later, handle);
    tic_guard--;
    if (status)
        tic_session_unprotect("starpu_data_unregister_submit", "StarPU gives no access to it");
}

static bool is_left_over(const struct tic_handle *handle)
{
    return handle->data && handle->listing.gone_since == 0 && handle->home_node < 0 &&
           !handle->parent && handle->child_count == 0 && !handle->use.accumulates;
}

/* Those that nobody has unregistered: StarPU frees the memory of what has no home when it shuts
 * down. What leaves when its last task has ended (starpu_data_unregister_submit) belongs to StarPU;
 * true: there is such data. */
static bool list_left_over(struct tic_handle_list *list)
{
    struct tic_graph *graph = &tic_session->graph;
    bool fine = true, some_leave = false;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && fine; i++) {
        struct tic_handle *handle = graph->handles[i];
        bool leaves = is_left_over(handle) && atomic_load(&handle->saving.leaves);
        some_leave |= leaves;
        if (is_left_over(handle) && !leaves)
            fine = tic_handle_append(list, handle);
    }
    tic_unlock(&graph->lock);
    tic_snapshot_need(&tic_session->snapshot, fine);
    return some_leave;
}

void tic_data_leave_all(void)
{
    struct tic_handle_list list = {NULL, 0, 0};

    if (list_left_over(&list)) { /* as StarPU does next: they leave while our threads still run */
        tic_guard++;
        tic_real.starpu_task_wait_for_no_ready();
        tic_guard--;
    }
    for (unsigned long i = 0; i < list.count; i++)
        tic_data_on_unregister_before(list.items[i]->data, true);
    free(list.items);
}
