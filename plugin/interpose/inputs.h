/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The initial content of data, which tasks read first: hashes of it. */
#pragma once

#include <stdbool.h>

struct tic_handle;

/* Stops the start: what a task reads first is not what it was. */
_Noreturn void tic_data_stop_input(const struct tic_handle *handle);
/* A task uses the handle: hashes its initial content if the first that does reads it. executes: the
 * task is to be executed, as it was not done at the recovered cut, or writes nothing. */
void tic_data_note_use(struct tic_handle *handle, bool reads, bool executes);
