/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the elements of data lie in memory. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "base/layout.h"

struct tic_handle;
struct tic_slot;

/* How the data of an interface lies in memory. False: an interface that cannot be saved yet.
 * ndim 0: data without content. */
bool tic_interface_layout(enum starpu_data_interface_id id, const void *interface,
                          struct tic_layout *layout);
/* Takes the address from an interface on a node of main memory. */
void tic_handle_locate(struct tic_handle *handle, void *interface);
/* The same for data without a home node, where StarPU has it in main memory. */
void tic_handle_locate_homeless(struct tic_handle *handle);
/* A task has ended, on its worker. */
void tic_data_check_shapes(const struct starpu_task *task, const struct tic_slot *slot);
