/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From StarPU's data handle to our record of it. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "graph/handle.h"

/* Our record of a StarPU handle; NULL when we have none. */
struct tic_handle *tic_handle_of(starpu_data_handle_t data);
/* After its registration; before it leaves; before StarPU stops and takes all data with it. */
void tic_data_remember(starpu_data_handle_t data, struct tic_handle *handle);
void tic_data_forget(starpu_data_handle_t data);
void tic_data_forget_all(void);
/* Keeps what the application stores with its data. False when out of memory. */
bool tic_data_keep_user_data(starpu_data_handle_t data, void *user_data);
/* Without content that lines hold. */
static inline bool tic_handle_is_empty(const struct tic_handle *handle)
{
    return handle->empty != TIC_WITH_CONTENT;
}
/* With content that callbacks may look at. */
static inline bool tic_handle_has_content(const struct tic_handle *handle)
{
    return handle && !(handle->supported && tic_handle_is_empty(handle));
}
static inline bool tic_handle_is_excluded(const struct tic_handle *handle)
{
    return handle->empty == TIC_EXCLUDED;
}
