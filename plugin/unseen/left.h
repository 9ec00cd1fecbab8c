/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses that kernels put into registered data: of what they have allocated, say, which is gone
 * in a restart, as it is in no recovery line. Lines name such data, and a restart that would have
 * to give the address back is refused (interpose/addresses.h). Some tasks of each codelet are
 * looked at, and all of those that were seen to do it. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_handle;
struct tic_slot;

/* Around a kernel that computes in main memory: by its worker, and by who ends the task. */
void tic_left_begin(const struct starpu_task *task, const struct tic_slot *slot);
void tic_left_end(const struct tic_slot *slot);
/* What `starpu-tic check` says; "": nothing. */
const char *tic_left_found(void);
