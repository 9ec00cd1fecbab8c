/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu_data_cpy as a task that is protected like those of the application. */
#include "interpose/copy.h"

#include "interpose/ending.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "real/real.h"

static void copy_kernel(void *buffers[], void *arg)
{
    enum starpu_data_interface_id *id = arg;
    struct tic_layout to, from;

    if (tic_interface_layout(*id, buffers[0], &to) && tic_interface_layout(*id, buffers[1], &from))
        tic_layout_copy(&to, &from);
}

static struct starpu_codelet copy_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {copy_kernel},
    .nbuffers = 2,
    .modes = {STARPU_W, STARPU_R},
    .name = "starpu_data_cpy",
};

static const char *why_not(const struct tic_handle *to, const struct tic_handle *from)
{
    if (!to || !from || !to->supported || !from->supported || to->packer || from->packer)
        return "copying data that cannot be saved yet is not protected yet";
    if (!tic_nodes_has_processor())
        return "copying without CPU workers is not protected yet";
    if (!tic_shape_equal(&to->layout.shape, &from->layout.shape))
        return "copying between data of different shape is not protected yet";
    return NULL;
}

struct starpu_task *tic_data_copy_task(starpu_data_handle_t to, starpu_data_handle_t from,
                                       int asynchronous, void (*callback)(void *), void *arg)
{
    const char *why = why_not(tic_handle_of(to), tic_handle_of(from));
    enum starpu_data_interface_id *id = why ? NULL : malloc(sizeof(*id));
    struct starpu_task *task = id ? tic_real.starpu_task_create() : NULL;

    if (!task) {
        free(id);
        tic_session_unprotect("starpu_data_cpy", why ? why : "out of memory");
        tic_data_bring_up(tic_handle_of(to));
        tic_data_bring_up(tic_handle_of(from));
        return NULL;
    }
    *id = tic_real.starpu_data_get_interface_id(to);
    task->cl = &copy_codelet;
    task->handles[0] = to;
    task->handles[1] = from;
    task->cl_arg = id;
    task->cl_arg_size = sizeof(*id);
    task->cl_arg_free = 1;
    task->callback_func = callback;
    task->callback_arg = arg;
    task->synchronous = !asynchronous;
    return task;
}
