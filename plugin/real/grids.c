/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "real/grids.h"

#include <string.h>

#include "real/real.h"

#if TIC_STARPU_1_4

static bool describe_tensor(const struct starpu_tensor_interface *tensor, struct tic_grid *grid)
{
    *grid = (struct tic_grid){
        .base = tensor->ptr,
        .element_size = tensor->elemsize,
        .ndim = 4,
        .dims = {tensor->nx, tensor->ny, tensor->nz, tensor->nt},
        .stride = {1, tensor->ldy, tensor->ldz, tensor->ldt},
    };
    return true;
}

/* Of one without memory StarPU has not set the strides yet. */
static bool describe_array(const struct starpu_ndim_interface *array, struct tic_grid *grid)
{
    if (array->ndim > TIC_GRID_DIMS || (array->ndim > 0 && array->ptr && array->ldn[0] != 1))
        return false;
    *grid = (struct tic_grid){
        .base = array->ptr,
        .element_size = array->elemsize,
        .ndim = (unsigned)array->ndim,
        .dims = {1},
        .stride = {1},
    };
    for (unsigned i = 0; i < array->ndim; i++) {
        grid->dims[i] = array->nn[i];
        grid->stride[i] = i > 0 ? array->ldn[i] : 1;
    }
    return true;
}

bool tic_grid_describe(enum starpu_data_interface_id id, const void *interface,
                       struct tic_grid *grid)
{
    if (id == STARPU_TENSOR_INTERFACE_ID)
        return describe_tensor(interface, grid);
    return id == STARPU_NDIM_INTERFACE_ID && describe_array(interface, grid);
}

bool tic_grid_point(enum starpu_data_interface_id id, void *interface, uintptr_t base)
{
    if (id == STARPU_TENSOR_INTERFACE_ID)
        ((struct starpu_tensor_interface *)interface)->ptr = base;
    else if (id == STARPU_NDIM_INTERFACE_ID)
        ((struct starpu_ndim_interface *)interface)->ptr = base;
    else
        return false;
    return true;
}

bool tic_grid_register(enum starpu_data_interface_id id, const struct tic_grid *grid,
                       starpu_data_handle_t *data)
{
    uint32_t dims[TIC_GRID_DIMS], stride[TIC_GRID_DIMS];

    for (unsigned i = 0; i < TIC_GRID_DIMS; i++) {
        dims[i] = (uint32_t)grid->dims[i];
        stride[i] = (uint32_t)grid->stride[i];
    }
    if (id == STARPU_TENSOR_INTERFACE_ID)
        tic_real.starpu_tensor_data_register(data, STARPU_MAIN_RAM, grid->base, stride[1],
                                             stride[2], stride[3], dims[0], dims[1], dims[2],
                                             dims[3], grid->element_size);
    else if (id == STARPU_NDIM_INTERFACE_ID)
        tic_real.starpu_ndim_data_register(data, STARPU_MAIN_RAM, grid->base, stride, dims,
                                           grid->ndim, grid->element_size);
    else
        return false;
    return true;
}

#else

bool tic_grid_describe(enum starpu_data_interface_id id, const void *interface,
                       struct tic_grid *grid)
{
    (void)id, (void)interface, (void)grid;
    return false;
}

bool tic_grid_point(enum starpu_data_interface_id id, void *interface, uintptr_t base)
{
    (void)id, (void)interface, (void)base;
    return false;
}

bool tic_grid_register(enum starpu_data_interface_id id, const struct tic_grid *grid,
                       starpu_data_handle_t *data)
{
    (void)id, (void)grid, (void)data;
    return false;
}

#endif
