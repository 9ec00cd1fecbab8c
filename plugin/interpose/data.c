/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the application: registration, what main() gets back, hashes of inputs. */
#include "interpose/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "graph/family.h"
#include "interpose/addresses.h"
#include "interpose/clock.h"
#include "interpose/context.h"
#include "interpose/early.h"
#include "interpose/ending.h"
#include "interpose/looks.h"
#include "interpose/lookup.h"
#include "interpose/order.h"
#include "interpose/pack.h"
#include "interpose/place.h"
#include "interpose/record.h"
#include "interpose/redux.h"
#include "interpose/replayed.h"
#include "interpose/report.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "interpose/statics.h"
#include "real/real.h"

/* ---- registration --------------------------------------------------------------------------- */

struct tic_handle *tic_data_add(starpu_data_handle_t data, int home_node)
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
    tic_statics_note_data(data);
    tic_report_register(tic_session->report, handle);
    tic_record_registered(handle);
    struct tic_graph *graph = &tic_session->graph;
    if (handle->pending && tic_spawns_has_kept(&graph->spawns) &&
        tic_spawns_was_written(&graph->spawns, handle->id, graph->signature.position))
        handle->submitted_writes++;
    return handle;
}

/* main() may have put something there, and may go on with that until a task mentions it. */
void tic_data_take_content(struct tic_handle *handle)
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
    struct tic_handle *handle = tic_data_add(data, home_node);
    if (handle)
        tic_data_take_content(handle);
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
void tic_data_end_helpers(struct tic_handle *handle)
{
    if (handle->redux)
        tic_redux_drop(handle);
    tic_order_forget(handle);
}

bool tic_data_has_task_values(const struct tic_handle *handle)
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

void tic_data_prune(struct tic_family *family)
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
        tic_data_prune(family);
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
    return (handle->mentioned || tic_data_has_task_values(handle)) && can_be_held(handle);
}

/* main() may read its memory from then on. Tasks may have written there without saying so. */
static bool is_pinned(const struct tic_handle *handle)
{
    return handle->imaged || (handle->home_node >= 0 && tic_data_has_task_values(handle));
}

/* The program is about to give it back to StarPU, where tasks may end that have used it. */
void tic_data_leave(struct tic_handle *handle)
{
    tic_statics_leave_out();
    tic_lock(&handle->lock);
    handle->leaves = true;
    tic_unlock(&handle->lock);
    tic_looks_remove(handle);
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
        tic_data_leave(handle);
        tic_lock(&tic_session->submit);
        handle->data = NULL; /* it has left */
        tic_unlock(&tic_session->submit);
        return;
    }
    tic_record_unregistered(handle);
    tic_data_leave(handle);
    tic_order_wait(handle, true);
    tic_data_end_helpers(handle);
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
    if (handle->home_node >= 0 || !tic_data_has_task_values(handle) || !can_be_held(handle))
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
    tic_data_leave(handle);
    if (is_pinned(handle))
        tic_data_restore_leaving(handle);
    if (!is_in_use(handle)) {
        tic_data_on_unregister_before(data, true);
        return;
    }
    tic_data_end_helpers(handle);
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
/* It was unregistered by the recovered cut, so no task that was not done can need its content.
 * Those that are executed again may: reads.c. */
static bool had_left(const struct tic_handle *handle)
{
    return tic_session->graph.recovered_verified && !handle->family && !handle->pending &&
           !handle->restored && !handle->live;
}

static bool is_saved(struct tic_handle *handle)
{
    const struct tic_handle *holder = holder_of(handle);

    handle->differs = tic_session->settings.inputs == TIC_INPUTS_SAVE && tic_position_is_ahead() &&
                      holder->imaged && (tic_data_is_pending(holder) || had_left(holder));
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
