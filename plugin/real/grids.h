/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data interfaces with a regular grid that only newer versions of StarPU have: tensors and arrays
 * of n dimensions. With an older version no data is one. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIC_GRID_DIMS = 4 };

/* Element (i, j ...) is at base + (i * stride[0] + j * stride[1] ...) * element_size. */
struct tic_grid {
    uintptr_t base;
    size_t element_size;
    unsigned ndim; /* 0: one element, without dimensions */
    uint64_t dims[TIC_GRID_DIMS],
        stride[TIC_GRID_DIMS]; /* dims[0] is the fastest; stride[0] == 1 */
};

/* False: another interface, or an array that is no such grid. */
bool tic_grid_describe(enum starpu_data_interface_id id, const void *interface,
                       struct tic_grid *grid);
/* Lets the interface point elsewhere. False: another interface. */
bool tic_grid_point(enum starpu_data_interface_id id, void *interface, uintptr_t base);
/* Registers such data in main memory. False: another interface. */
bool tic_grid_register(enum starpu_data_interface_id id, const struct tic_grid *grid,
                       starpu_data_handle_t *data);
