/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data leaves. On the owner thread. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_handle;

/* The program is about to give it back to StarPU, where tasks may end that have used it. */
void tic_data_leave(struct tic_handle *handle);
/* StarPU shuts down: data without a home that is still registered leaves. */
void tic_data_leave_all(void);
void tic_data_on_unregister_before(starpu_data_handle_t data, bool coherent);
/* StarPU is about to forget the value, and to free its memory if that is not main()'s. */
void tic_data_on_invalidate_before(struct tic_handle *handle);
/* A restart makes the call later, perhaps: what is registered next does not meet the data, and
 * finds its value where nobody is to read another one. */
void tic_data_part(struct tic_handle *handle);
/* Does it leave at once, when its tasks have ended, as others share its memory? */
bool tic_data_leaves_at_once(const struct tic_handle *handle);
void tic_data_on_unregister_submit_before(starpu_data_handle_t data);
