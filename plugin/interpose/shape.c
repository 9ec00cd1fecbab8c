/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the elements of data lie in memory: what its interface tells, and whether that stays. */
#include "interpose/shape.h"

#include <string.h>

#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "session/task.h"
#include "real/grids.h"
#include "real/real.h"

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
        if (layout->shape.dims[i] == 0 || element_size == 0)
            layout->shape.ndim = 0; /* nothing in it */
    }
}

/* Contiguous; elements that are too large for a shape are so many bytes. */
static void set_run(struct tic_layout *layout, uintptr_t base, size_t element_size, uint64_t count)
{
    if (element_size > UINT32_MAX) {
        count *= element_size;
        element_size = 1;
    }
    set_layout(layout, base, element_size, 1, &count, (const uint64_t[]){1});
}

_Static_assert(TIC_GRID_DIMS <= TIC_MAX_DIMS, "grids have a layout");

static bool set_grid(struct tic_layout *layout, enum starpu_data_interface_id id,
                     const void *interface)
{
    struct tic_grid grid;

    if (!tic_grid_describe(id, interface, &grid) || grid.element_size > UINT32_MAX)
        return false;
    set_layout(layout, grid.base, grid.element_size, grid.ndim > 0 ? grid.ndim : 1, grid.dims,
               grid.stride);
    return true;
}

bool tic_interface_layout(enum starpu_data_interface_id id, const void *interface,
                          struct tic_layout *layout)
{
    const struct starpu_variable_interface *variable = interface;
    const struct starpu_vector_interface *vector = interface;
    const struct starpu_matrix_interface *matrix = interface;
    const struct starpu_block_interface *block = interface;

    switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID:
        set_run(layout, variable->ptr, variable->elemsize, 1);
        return true;
    case STARPU_VECTOR_INTERFACE_ID:
        set_run(layout, vector->ptr, vector->elemsize, vector->nx);
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
        return set_grid(layout, id, interface);
    }
}

void tic_handle_locate(struct tic_handle *handle, void *interface)
{
    struct tic_layout layout;

    if (!handle->supported || tic_handle_is_empty(handle) || handle->packer)
        return;
    tic_interface_layout(tic_real.starpu_data_get_interface_id(handle->data), interface, &layout);
    if (handle->layout.base == layout.base &&
        memcmp(handle->layout.stride, layout.stride, sizeof(layout.stride)) == 0)
        return; /* others may be reading them */
    handle->layout.base = layout.base;
    memcpy(handle->layout.stride, layout.stride, sizeof(layout.stride));
}

void tic_handle_locate_homeless(struct tic_handle *handle)
{
    if (handle->home_node < 0)
        tic_handle_locate(
            handle, tic_real.starpu_data_get_interface_on_node(handle->data, STARPU_MAIN_RAM));
}

static bool has_its_shape(struct tic_handle *handle, unsigned node)
{
    struct tic_layout layout;
    bool same = true;

    if (!handle->is_value || handle->packer)
        return true;
    tic_lock(&handle->saving.lock);
    if (!handle->saving.leaves &&
        tic_interface_layout(tic_real.starpu_data_get_interface_id(handle->data),
                             tic_real.starpu_data_get_interface_on_node(handle->data, node),
                             &layout))
        same = tic_shape_equal(&layout.shape, &handle->layout.shape);
    tic_unlock(&handle->saving.lock);
    return same;
}

static void refuse(const char *task, const char *why)
{
    static _Atomic bool reported; /* the shape stays another one */

    if (tic_session->report && !atomic_exchange(&reported, true))
        TIC_LINT(problem, task, why);
    else if (!tic_session->report)
        tic_snapshot_break(&tic_session->snapshot, "%s: %s", task, why);
}

/* Where the kernel found its data. */
static unsigned node_of_worker(void)
{
    int worker = tic_nodes_several ? tic_real.starpu_worker_get_id() : -1;

    return worker >= 0 ? tic_real.starpu_worker_get_memory_node((unsigned)worker) : STARPU_MAIN_RAM;
}

void tic_data_check_shapes(const struct starpu_task *task, const struct tic_slot *slot)
{
    const char *why = tic_version_why_not_ended(task);
    unsigned node = node_of_worker();

    if (__builtin_expect(why != NULL, 0))
        refuse(tic_task_name(task), why);
    for (unsigned long i = 0; i < slot->writing.count; i++)
        if (__builtin_expect(!has_its_shape(slot->writing.items[i], node), 0))
            refuse(tic_task_name(task), "it changes the size of its data (nx, ny ...), which is "
                                        "not protected yet: a restart that skips it would not");
}
