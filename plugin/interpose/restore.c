/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing recovered values back: by a task that later accesses depend on, or at once into memory
 * that nobody uses yet. */
#include "interpose/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/names.h"
#include "graph/family.h"
#include "interpose/addresses.h"
#include "interpose/fill.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/pack.h"
#include "interpose/release.h"
#include "interpose/shape.h"
#include "session/task.h"
#include "real/real.h"
#include "replay/replay.h"

/* ---- restore -------------------------------------------------------------------------------- */

struct restore {
    struct tic_saved saved;
    char *packed; /* what to write instead, owned; or NULL */
    struct tic_shape shape;
    enum starpu_data_interface_id interface_id;
    uint64_t id;
    bool logged;               /* the value is one of the event log */
    starpu_data_handle_t data; /* whose interface unpacks it; NULL: it has the shape above */
};

void tic_data_stop_made(const char *what)
{
    tic_stop(TIC_EXIT_REFUSED,
             "cannot continue from %s: it does not tell %s, as a version up to 0.2 has written it. "
             "Finish the run with that, or start over: name another STARPU_TIC_DIR, or remove it",
             tic_session->store.path, what);
}

_Noreturn void tic_data_stop_unreadable(uint64_t id, int status, bool logged)
{
    if (status == -ERANGE) /* there is no row of so many bytes where the line says */
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: handle %llu%s has another size now",
                 (unsigned long long)id, tic_name_of(id));
    if (logged)
        tic_stop(
            TIC_EXIT_REFUSED,
            "cannot restore handle %llu%s from %s: what a task wrote, and the event log names, "
            "is %s. Start again with STARPU_TIC_RESULTS=0: what was done after the last "
            "recovery line is then executed again",
            (unsigned long long)id, tic_name_of(id), tic_session->store.path,
            tic_store_reason(status));
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot restore handle %llu%s from %s: %s. Start again: an older recovery line is used "
        "if there is one",
        (unsigned long long)id, tic_name_of(id), tic_session->store.path, tic_store_reason(status));
}

static int write_value(const struct restore *restore, const struct tic_layout *to)
{
    struct tic_layout packed = tic_layout_packed(&restore->shape, restore->packed);

    if (!tic_layout_is_writable(to))
        tic_constant_require(
            to, restore->packed ? tic_layout_checksum(&packed) : restore->saved.checksum,
            restore->id);
    else if (restore->packed)
        tic_layout_copy(to, &packed);
    else
        return tic_store_read(&tic_session->store, &restore->saved, to);
    return 0;
}

static void read_into(const struct restore *restore, const struct tic_layout *to)
{
    struct tic_layout layout = *to;

    tic_failpoint(TIC_FAIL_RESTORE_BEGIN);
    if (!tic_shape_equal(&layout.shape, &restore->shape))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: handle %llu%s has "
                 "another shape now",
                 (unsigned long long)restore->id, tic_name_of(restore->id));
    int status = write_value(restore, &layout);
    if (status)
        tic_data_stop_unreadable(restore->id, status, restore->logged);
    atomic_fetch_add_explicit(&tic_session->restored, 1, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_RESTORE_END);
}

static void unpack_value(const struct restore *restore)
{
    tic_failpoint(TIC_FAIL_RESTORE_BEGIN);
    int status = restore->packed ? tic_pack_put(restore->data, restore->packed,
                                                tic_shape_bytes(&restore->shape))
                                 : tic_pack_restore(restore->data, &restore->saved);
    if (status)
        tic_data_stop_unreadable(restore->id, status, restore->logged);
    atomic_fetch_add_explicit(&tic_session->restored, 1, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_RESTORE_END);
}

static void read_value(const struct restore *restore, void *interface)
{
    struct tic_layout layout;

    if (restore->data) {
        unpack_value(restore);
        return;
    }
    tic_interface_layout(restore->interface_id, interface, &layout);
    read_into(restore, &layout);
}

static void restore_kernel(void *buffers[], void *arg)
{
    struct restore *restore = arg;

    read_value(restore, buffers[0]);
    free(restore->packed);
}

static struct starpu_codelet restore_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {restore_kernel},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "tic_restore",
};

bool tic_data_is_in_place(const struct tic_handle *handle)
{
    return handle->home_node >= 0 && !handle->packer;
}

/* Reads what may hold addresses into `packed`, with those of this run. True when there are some. */
static bool translate(struct restore *restore, const struct tic_handle *handle)
{
    if (handle->packer || !tic_addresses_are_sought(handle))
        return false;
    char *recorded = tic_or_stop(malloc(tic_shape_bytes(&handle->layout.shape)));
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, recorded);
    int status = tic_store_read(&tic_session->store, &restore->saved, &packed);
    if (status)
        tic_data_stop_unreadable(handle->id, status, restore->logged);
    restore->packed = recorded;
    return tic_addresses_take_own(handle, recorded);
}

/* The same for what is about to be in its memory, which is no longer what the store has. */
static void translate_here(struct restore *restore, struct tic_handle *handle)
{
    if (translate(restore, handle))
        tic_snapshot_note_change(&tic_session->snapshot, handle);
}

static struct restore describe_restore(struct tic_handle *handle)
{
    return (struct restore){
        .shape = handle->layout.shape,
        .interface_id = handle->data ? tic_real.starpu_data_get_interface_id(handle->data)
                                     : STARPU_UNKNOWN_INTERFACE_ID,
        .id = handle->id,
        .logged = handle->restart.adopted,
        .data = handle->packer ? handle->data : NULL,
    };
}

struct tic_saved tic_data_recovered_value(struct tic_handle *handle)
{
    tic_lock(&handle->saving.lock);
    struct tic_saved saved = handle->saving.current.saved;
    tic_unlock(&handle->saving.lock);
    return saved;
}

/* Its value is there already, or a kernel reads an older one, or it comes back when a callback has
 * looked at it. */
static bool stays(const struct tic_handle *part)
{
    const struct tic_handle *keeper = part->family ? part->family->root : part;

    return part->restart.restored || keeper->restart.redo.named ||
           atomic_load(&keeper->restart.redo.users) > 0;
}

static bool any_stays(const struct tic_handle *whole)
{
    for (unsigned i = 0; i < whole->child_count; i++)
        if (stays(whole->children[i]) || any_stays(whole->children[i]))
            return true;
    return false;
}

static struct tic_layout layout_on(const struct tic_handle *handle, unsigned node)
{
    struct tic_layout layout;

    tic_interface_layout(tic_real.starpu_data_get_interface_id(handle->data),
                         tic_real.starpu_data_get_interface_on_node(handle->data, node), &layout);
    return layout;
}

/* Of its parts, from memory to a copy of the whole. */
static void copy_what_stays(const struct tic_handle *whole, unsigned node, char *memory, char *copy)
{
    for (unsigned i = 0; i < whole->child_count; i++) {
        const struct tic_handle *part = whole->children[i];
        struct tic_layout from = layout_on(part, node), to = from;
        to.base = copy + (from.base - memory);
        if (stays(part))
            tic_layout_copy(&to, &from);
        else
            copy_what_stays(part, node, memory, copy);
    }
}

/* A kernel that reads a part sees no other value there meanwhile. */
static void read_around_parts(const struct restore *restore, const struct tic_handle *whole,
                              unsigned node)
{
    struct tic_layout to = layout_on(whole, node), copy = to;

    if (!any_stays(whole) || !tic_layout_is_writable(&to)) {
        read_value(restore, tic_real.starpu_data_get_interface_on_node(whole->data, node));
        return;
    }
    copy.base = tic_or_stop(malloc(tic_layout_span(&to)));
    read_into(restore, &copy);
    copy_what_stays(whole, node, to.base, copy.base);
    tic_layout_copy(&to, &copy);
    free(copy.base);
}

static void take(const struct tic_handle *handle)
{
    if (tic_real.starpu_data_acquire_on_node(handle->data, STARPU_MAIN_RAM, STARPU_W) != 0)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot restore handle %llu%s: StarPU does not give access to it",
                 (unsigned long long)handle->id, tic_name_of(handle->id));
}

/* StarPU gives no access to the whole: from now on main memory alone holds its parts. */
static void take_parts(const struct tic_handle *whole)
{
    for (unsigned i = 0; i < whole->child_count; i++) {
        const struct tic_handle *part = whole->children[i];
        if (part->child_count > 0) {
            take_parts(part);
        } else if (!tic_nodes_holds_alone(part->data, STARPU_MAIN_RAM)) {
            take(part);
            tic_release(part->data, STARPU_MAIN_RAM);
        }
    }
}

/* Nobody accesses the data: no live task does before its value is restored, and tasks that are
 * executed again get handles of their own. With a home node its memory can be written at once. */
static void deliver(struct tic_handle *handle, const struct tic_saved *saved)
{
    struct restore restore = describe_restore(handle);
    unsigned home = handle->home_node >= 0 ? (unsigned)handle->home_node : STARPU_MAIN_RAM;

    restore.saved = *saved;
    if (tic_data_is_in_place(handle) && !tic_handle_is_there(handle))
        return; /* main() has given it away by now, and nobody can want it */
    translate_here(&restore, handle);
    if (handle->family) {
        read_into(&restore, &handle->layout);
        free(restore.packed);
        return;
    }
    /* To StarPU, data that was invalidated holds nothing until it is written with its knowledge. */
    const bool whole = handle->child_count > 0;
    bool direct = whole || (tic_data_is_in_place(handle) &&
                            tic_nodes_holds_alone(handle->data, handle->home_node));
    tic_guard++;
    if (whole)
        take_parts(handle);
    else if (!direct)
        take(handle);
    read_around_parts(&restore, handle, home);
    if (!direct)
        tic_release(handle->data, STARPU_MAIN_RAM);
    tic_guard--;
    free(restore.packed);
}

void tic_data_redo(struct tic_handle *handle, const struct tic_saved *saved)
{
    deliver(handle, saved);
    tic_lock(&tic_session->submit);
    if (tic_handle_put_off(handle) && handle->family)
        handle->family->pending = true;
    tic_unlock(&tic_session->submit);
}

void tic_data_write_to(struct tic_handle *handle, const struct tic_saved *saved,
                       const struct tic_layout *to)
{
    struct restore restore = describe_restore(handle);

    restore.saved = *saved;
    translate(&restore, handle);
    read_into(&restore, to);
    free(restore.packed);
}

/* Who looks at it has no access, and StarPU grants none to callbacks. */
void tic_data_expose_locked(struct tic_handle *handle, const struct tic_saved *saved)
{
    struct restore restore = describe_restore(handle);
    unsigned home = handle->home_node >= 0 ? (unsigned)handle->home_node : STARPU_MAIN_RAM;
    void *interface = tic_real.starpu_data_get_interface_on_node(handle->data, home);

    restore.saved = *saved;
    if (handle->home_node < 0)
        tic_handle_locate(handle, interface);
    translate(&restore, handle);
    if (handle->packer || handle->layout.base) /* else it has no memory yet */
        read_value(&restore, interface);
    free(restore.packed);
}

/* ---- restores by tasks ----------------------------------------------------------------------- */

/* A task that writes the value into `data`. NULL when out of memory. */
static struct starpu_task *restore_task(starpu_data_handle_t data, const struct restore *model)
{
    struct restore *restore = malloc(sizeof(*restore));
    struct starpu_task *task = restore ? tic_task_create() : NULL;

    if (!task) {
        free(restore);
        return NULL;
    }
    *restore = *model;
    task->cl = &restore_codelet;
    task->handles[0] = data;
    task->cl_arg = restore;
    task->cl_arg_size = sizeof(*restore);
    task->cl_arg_free = 1;
    return task;
}

/* On several nodes. */
static void write_restore(void *arg, void *interface)
{
    struct restore *restore = arg;

    read_value(restore, interface);
    free(restore->packed);
    free(restore);
}

static bool restore_by_access(starpu_data_handle_t data, const struct restore *model)
{
    struct restore *restore = malloc(sizeof(*restore));

    if (!restore)
        return false;
    *restore = *model;
    return tic_fill_submit(data, write_restore, restore);
}

/* There may be no processor that executes tasks. With a disk there is one, and memory may be short:
 * workers keep what their tasks use while the queue is played, so who plays it must not wait until
 * StarPU has made some free. */
static bool fills_by_access(void)
{
    return tic_nodes_several && !(tic_replay_is_on() && tic_nodes_has_disk());
}

/* False when no task can do it. */
static bool restore_by_task(struct tic_handle *handle)
{
    struct restore model = describe_restore(handle);

    model.saved = tic_data_recovered_value(handle);
    translate_here(&model, handle);
    if (fills_by_access())
        return restore_by_access(handle->data, &model);
    struct starpu_task *task = restore_task(handle->data, &model);
    return task && tic_task_submit(task);
}

static void touch_kernel(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet touch_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {touch_kernel},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "tic_touch",
};

void tic_data_make_readable_locked(struct tic_handle *handle)
{
    /* Of data that no line holds, the task that writes it may come only when the history says so.
     */
    bool written = handle->use.submitted_writes > 0 || handle->use.main_used.written > 0;

    if (handle->home_node >= 0 || handle->restart.live || !written)
        return;
    if (fills_by_access()) {
        tic_fill_submit(handle->data, NULL, NULL);
        return;
    }
    struct starpu_task *task = tic_or_stop(tic_task_create());
    task->cl = &touch_codelet;
    task->handles[0] = handle->data;
    tic_task_submit(task);
}

/* The whole family, at once: it is one piece of memory. What main() holds for writing it has made,
 * or makes. */
static void restore_family(struct tic_family *family)
{
    unsigned long count = 0;

    family->live = true;
    if (!family->pending)
        return;
    struct tic_handle **pending =
        tic_or_stop(tic_family_pending(&tic_session->graph, family, &count));
    for (unsigned long i = 0; i < count; i++) {
        struct tic_saved saved = tic_data_recovered_value(pending[i]);
        if (!family->root->use.main_writes)
            deliver(pending[i], &saved);
        pending[i]->restart.pending = false;
        pending[i]->restart.restored = true;
    }
    free(pending);
    family->pending = false;
}

void tic_data_restore_now_locked(struct tic_handle *handle, bool now)
{
    if (handle->family) {
        restore_family(handle->family);
        return;
    }
    if (!handle->restart.pending)
        return;
    if (handle->use.by_callback.replayed > 0) {
        handle->use.by_callback.put_off = true;
        return;
    }
    handle->restart.pending = false;
    handle->restart.live = true;
    handle->restart.restored = true;
    if (tic_handle_is_empty(handle) || handle->use.main_writes)
        return;
    if (!handle->supported)
        tic_stop(
            TIC_EXIT_DIVERGED,
            "the replay differs from the recorded run: handle %llu%s has another interface now",
            (unsigned long long)handle->id, tic_name_of(handle->id));
    bool ordered = tic_real.starpu_data_get_sequential_consistency_flag(handle->data) != 0;
    handle->restart.delivered = now || !ordered || !restore_by_task(handle);
    if (handle->restart.delivered) {
        struct tic_saved saved = tic_data_recovered_value(handle);
        deliver(handle, &saved);
    }
}

/* Values of data in memory of main() come back when it is where it was at the cut. */
void tic_data_restore_locked(struct tic_handle *handle, bool now)
{
    if (!tic_position_is_ahead() || !tic_data_is_in_place(handle))
        tic_data_restore_now_locked(handle, now);
}

/* ---- memory that cannot be written ----------------------------------------------------------- */

/* Memory that the program does not allow to be written: constants, files that are mapped for
 * reading, mprotect. In a restart main() has put there what it must hold. */

static _Noreturn void stop(uint64_t id)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot restore handle %llu%s from %s: the program does not allow writing to its memory "
        "(mprotect, constants), and it holds something else than it did",
        (unsigned long long)id, tic_name_of(id), tic_session->store.path);
}

void tic_constant_require(const struct tic_layout *layout, uint64_t checksum, uint64_t id)
{
    if (tic_layout_checksum(layout) != checksum)
        stop(id);
}

void tic_constant_refuse(const struct tic_handle *handle)
{
    if (handle->imaged && !tic_layout_is_writable(&handle->layout))
        stop(handle->id);
}
