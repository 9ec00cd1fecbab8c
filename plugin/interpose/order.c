/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who waits for tasks that a replay executes again. They read copies, and what came after them is
 * skipped, so main() would overtake them, and they each other. Therefore data that they use has a
 * place, data without content, which tasks of ours without a kernel access in the same modes: one
 * that such a task waits for, one that waits for it, and one for each task that is skipped after
 * it. StarPU's own rules make an order of it. */
#include "interpose/order.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/family.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/later.h"
#include "session/lookup.h"
#include "session/task.h"
#include "real/real.h"

static _Atomic unsigned long outstanding; /* tasks of ours that have not ended */

static void end(void *arg)
{
    (void)arg;
    atomic_fetch_sub(&outstanding, 1);
}

static struct starpu_codelet codelet = {
    .where = STARPU_NOWHERE,
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "tic_order",
};

static struct starpu_task *create(starpu_data_handle_t *places, enum starpu_data_access_mode *modes,
                                  unsigned count)
{
    struct starpu_task *task = tic_task_create();

    if (!task || !places || !modes)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    task->cl = &codelet;
    task->nbuffers = (int)count;
    task->dyn_handles = places; /* StarPU frees them */
    task->dyn_modes = modes;
    task->callback_func = end;
    atomic_fetch_add(&outstanding, 1);
    return task;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The handle that has the place: parts of a family are not told apart. */
static struct tic_handle *keeper(struct tic_handle *handle)
{
    return handle->family ? handle->family->root : handle;
}

/* Whose place orders this access, and how; NULL when StarPU keeps no order. */
static struct tic_handle *ordered(struct starpu_task *task, unsigned buffer,
                                  enum starpu_data_access_mode *mode)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));

    *mode = STARPU_TASK_GET_MODE(task, buffer) & (STARPU_RW | STARPU_COMMUTE);
    if (!handle || !(*mode & STARPU_RW) || !tic_task_is_ordered(task, buffer))
        return NULL;
    return keeper(handle);
}

static void make_place(struct tic_handle *handle)
{
    starpu_data_handle_t place;

    tic_guard++;
    tic_real.starpu_void_data_register(&place);
    tic_guard--;
    handle->place.data = place;
    handle->place.written = false;
    handle->place.clock = 0;
}

/* Must an access to its data wait for something? */
static bool is_behind(const struct tic_handle *handle, bool writes)
{
    return handle->place.data && (writes || handle->place.written);
}

bool tic_order_is_behind(struct starpu_task *task)
{
    enum starpu_data_access_mode mode;
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool any = false;

    for (unsigned i = 0; i < buffers && !any && atomic_load(&outstanding) > 0; i++) {
        const struct tic_handle *handle = ordered(task, i, &mode);
        any = handle && is_behind(handle, (mode & STARPU_W) != 0);
    }
    return any;
}

/* Data that the program holds now: who reads a copy of it waits for it nevertheless. */
static struct tic_handle *held(struct starpu_task *task, unsigned buffer)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    enum starpu_data_access_mode mode;

    if (!handle || atomic_load(&handle->holds) == 0 || !ordered(task, buffer, &mode))
        return NULL;
    return handle->family && handle->family->has_plans ? NULL : handle;
}

static bool holds_any(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task), i = 0;

    while (i < buffers && !held(task, i))
        i++;
    return i < buffers;
}

/* All its places wait until main() has come as far as the latest of them does. */
static void delay_places(struct starpu_task *task, uint64_t clock)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    enum starpu_data_access_mode mode;

    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < buffers; i++) {
            struct tic_handle *handle = ordered(task, i, &mode);
            if (handle && pass == 0 && handle->place.clock > clock)
                clock = handle->place.clock;
            else if (handle && pass == 1)
                handle->place.clock = clock;
        }
}

/* A task that accesses the places as the other accesses the data; and what is held, if it waits.
 * Where it comes after what starts when main() has come to an operation, so does what comes next.
 */
static struct starpu_task *like(struct starpu_task *task, bool waits, uint64_t clock)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task), count = 0;
    starpu_data_handle_t *places = calloc(2 * buffers, sizeof(*places));
    enum starpu_data_access_mode *modes = calloc(2 * buffers, sizeof(*modes));

    for (unsigned i = 0; i < buffers && places && modes; i++) {
        struct tic_handle *handle = ordered(task, i, &modes[count]);
        if (!handle)
            continue;
        if (!handle->place.data)
            make_place(handle);
        handle->place.written |= (modes[count] & STARPU_W) != 0;
        places[count++] = handle->place.data;
    }
    delay_places(task, clock);
    for (unsigned i = 0; i < buffers && waits && places && modes; i++) {
        const struct tic_handle *handle = held(task, i);
        if (!handle)
            continue;
        modes[count] = STARPU_R;
        places[count++] = handle->data;
    }
    return create(places, modes, count);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void wait_for(struct starpu_task *task, bool enters, struct starpu_task *before)
{
    if (enters && task->destroy) {
        tic_real.starpu_task_declare_deps_array(task, 1, &before);
    } else if (enters) { /* StarPU remembers predecessors of what may be submitted again */
        atomic_store(&tic_session->snapshot.late_ends, true);
        tic_real.starpu_task_declare_end_deps_array(task, 1, &before);
    }
    tic_task_submit(before);
}

void tic_order_follow(struct starpu_task *task, bool enters)
{
    if (tic_order_is_behind(task))
        wait_for(task, enters, like(task, false, 0));
}

/* Waits for the task that this thread is about to submit. */
static __thread struct starpu_task *behind __attribute__((tls_model("initial-exec")));

void tic_order_again(struct starpu_task *task, uint64_t key)
{
    tic_order_after_submit(true); /* inside the submission of another: StarPU has taken that */
    if (tic_order_is_behind(task) || holds_any(task))
        wait_for(task, true, like(task, true, 0));
    if (!task->destroy) /* StarPU would tell our task each time that it runs: main() waits for it */
        return;
    behind = like(task, false, tic_callback_start_clock(task, key));
    tic_real.starpu_task_declare_deps_array(behind, 1, &task);
}

void tic_order_after_submit(bool accepted)
{
    struct starpu_task *task = behind;

    behind = NULL;
    if (task && accepted)
        tic_task_submit(task);
    else if (task)
        end(NULL); /* it belongs to the dependencies of what the application keeps */
}

/* ---- main() ---------------------------------------------------------------------------------- */

void tic_order_wait(struct tic_handle *handle, bool writes)
{
    struct starpu_task *task = NULL;
    starpu_data_handle_t *place;
    enum starpu_data_access_mode *mode;

    if (atomic_load(&outstanding) == 0)
        return;
    tic_lock(&tic_session->submit);
    /* main() came past this operation before those that are held back until later: the place is of
     * more than this data. */
    if (is_behind(keeper(handle), writes) && keeper(handle)->place.clock <= tic_clock_now()) {
        place = malloc(sizeof(*place));
        mode = malloc(sizeof(*mode));
        task = create(place, mode, 1);
        *place = keeper(handle)->place.data;
        *mode = writes ? STARPU_RW : STARPU_R;
    }
    tic_unlock(&tic_session->submit);
    if (!task)
        return;
    task->synchronous = 1;
    tic_task_submit(task);
}

void tic_order_forget(struct tic_handle *handle)
{
    tic_lock(&tic_session->submit);
    starpu_data_handle_t place = handle->place.data;
    handle->place.data = NULL;
    tic_unlock(&tic_session->submit);
    if (!place)
        return;
    tic_guard++;
    tic_real.starpu_data_unregister_submit(place);
    tic_guard--;
}
