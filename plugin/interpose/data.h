/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the application: its registration, and what unregistration and partitions do alike. On
 * the owner thread. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_family;
struct tic_handle;
/* A record of it. NULL: protection has ended. */
struct tic_handle *tic_data_add(starpu_data_handle_t data, int home_node,
                                const struct tic_handle *parent);
/* main() may have put something there, and may go on with that until a task mentions it. */
void tic_data_take_content(struct tic_handle *handle);
/* Does a task write it, or a handle that shares its memory? */
bool tic_data_has_task_values(const struct tic_handle *handle);
/* Drops members of the family that no line needs. */
void tic_data_prune(struct tic_family *family);
void tic_data_on_register_after(starpu_data_handle_t data, int home_node);
/* Waits until every submitted task that uses the handle has ended. */
void tic_data_wait(struct tic_handle *handle);
