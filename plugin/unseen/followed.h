/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Registered data that holds nothing but addresses, as a variable with a pointer to an object of
 * the program does. A task that declares to read and write it, and leaves it as it was, means what
 * lies where they lead: that is not saved. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_handle;
struct tic_slot;

/* Around a kernel that computes in main memory: by its worker, and by who ends the task. */
void tic_followed_begin(struct starpu_task *task, const struct tic_slot *slot);
void tic_followed_end(struct starpu_task *task, const struct tic_slot *slot);
