/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/movable.h"

#include <sched.h>
#include <stdlib.h>

#include "base/apart.h"
#include "interpose/release.h"
#include "interpose/shape.h"
#include "real/real.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "snapshot/window.h"

/* ---- threads of ours ------------------------------------------------------------------------- */

struct request {
    starpu_data_handle_t data;
    struct tic_handle *handle;
};

/* The request is over. The handle may go when the access does. */
static void note_granted(struct tic_handle *handle)
{
    int state = TIC_ASKED;

    while (!atomic_compare_exchange_weak(&handle->movable.asked, &state,
                                         state == TIC_ASKED_NOW ? TIC_ASKED_OVER : TIC_ASKED_NOT))
        ;
}

static void granted(void *arg)
{
    struct request request = *(struct request *)arg;

    free(arg);
    tic_handle_locate_homeless(request.handle);
    tic_snapshot_save_granted(&tic_session->snapshot, request.handle);
    note_granted(request.handle);
    tic_release(request.data, STARPU_MAIN_RAM);
}

static void ask(struct tic_handle *handle)
{
    struct request *request = malloc(sizeof(*request));
    int state = TIC_ASKED_NOW, status = -1;

    if (request) {
        *request = (struct request){handle->data, handle};
        tic_guard++;
        status = tic_real.starpu_data_acquire_on_node_cb_sequential_consistency(
            handle->data, STARPU_MAIN_RAM, STARPU_R, granted, request, 0);
        tic_guard--;
    }
    if (status) {
        free(request);
        tic_snapshot_break(&tic_session->snapshot,
                           "no access to data %llu (number of registration)",
                           (unsigned long long)handle->id);
    }
    if (status || !atomic_compare_exchange_strong(&handle->movable.asked, &state, TIC_ASKED))
        atomic_store(&handle->movable.asked, TIC_ASKED_NOT);
}

struct list {
    struct tic_handle **handles;
    unsigned long count;
};

static void ask_all(void *arg)
{
    const struct list *list = arg;

    for (unsigned long i = 0; i < list->count; i++)
        ask(list->handles[i]);
}

/* The end of an access may begin callbacks of the program. */
void tic_movable_ask(struct tic_handle **handles, unsigned long count)
{
    struct list list = {handles, count};

    tic_apart_call_beside(ask_all, &list);
}

void tic_movable_leave(struct tic_handle *handle)
{
    for (int state;
         (state = atomic_load(&handle->movable.asked)) == TIC_ASKED_NOW || state == TIC_ASKED_OVER;)
        sched_yield();
}

/* ---- the owner thread ------------------------------------------------------------------------ */

static void set_closed(struct tic_handle *handle, bool closed)
{
    tic_lock(&handle->saving.lock);
    handle->movable.closed = closed;
    tic_unlock(&handle->saving.lock);
}

void tic_movable_close(struct tic_handle *handle)
{
    if (!tic_nodes_several)
        return;
    set_closed(handle, true);
    while (atomic_load(&handle->movable.asked) != TIC_ASKED_NOT)
        sched_yield();
    if (tic_movable_hold(handle))
        tic_movable_drop(handle->data);
}

void tic_movable_open(struct tic_handle *handle)
{
    set_closed(handle, false);
}

void tic_movable_found(struct tic_handle *handle)
{
    tic_handle_locate_homeless(handle);
    tic_window_unmark(handle);
}

bool tic_movable_hold(struct tic_handle *handle)
{
    if ((!handle->movable.may && !atomic_load(&handle->movable.stale)) ||
        !tic_nodes_holds(handle->data))
        return false;
    tic_guard++;
    int status = tic_real.starpu_data_acquire_on_node(handle->data, STARPU_MAIN_RAM, STARPU_R);
    tic_guard--;
    if (status == 0)
        tic_movable_found(handle);
    return status == 0;
}

void tic_movable_drop(starpu_data_handle_t data)
{
    tic_release(data, STARPU_MAIN_RAM);
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* For writing only, where there will be a value. In a restart skipped tasks leave none. */
static bool loses_value(const struct tic_handle *handle, enum starpu_data_access_mode mode)
{
    return handle && handle->movable.may && mode & STARPU_W && !(mode & STARPU_R) &&
           !atomic_load(&handle->use.invalid) && (!tic_session->recovered || handle->restart.live);
}

const char *tic_movable_refuse(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count && !task->destroy; i++)
        if (accesses->items[i].handle && accesses->items[i].handle->movable.may &&
            (accesses->items[i].mode & STARPU_RW) == STARPU_W)
            return "tasks whose structure stays with the program (destroy = 0), and that only "
                   "write "
                   "data without a home node, are not protected yet where StarPU has a disk";
    return NULL;
}

bool tic_movable_keep(struct starpu_task *task, const struct tic_accesses *accesses)
{
    unsigned buffers = accesses->count;

    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = accesses->items[i].mode;
        if (!loses_value(accesses->items[i].handle, mode))
            continue;
        if (!task->dyn_modes) {
            enum starpu_data_access_mode *modes = calloc(buffers, sizeof(*modes));
            if (!modes)
                return false;
            for (unsigned k = 0; k < buffers; k++)
                modes[k] = STARPU_TASK_GET_MODE(task, k);
            task->dyn_modes = modes; /* StarPU prefers them, and frees them */
        }
        task->dyn_modes[i] = mode | STARPU_R;
    }
    return true;
}

enum starpu_data_access_mode tic_movable_mode(starpu_data_handle_t data,
                                              enum starpu_data_access_mode mode)
{
    return loses_value(tic_handle_of(data), mode) ? mode | STARPU_R : mode;
}

void tic_movable_find(starpu_data_handle_t data)
{
    struct tic_handle *handle =
        tic_nodes_several && tic_session_is_watching() ? tic_handle_of(data) : NULL;

    if (handle)
        tic_movable_found(handle);
}
