/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks may look at by their own pointers: logged, and given back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tic_handle;
struct tic_small;

/* main() begins a call that waits for tasks. */
void tic_looks_enter(void);
/* And comes back from it: what it may look at by pointer is logged, or given back. False: it did
 * not wait, or memory is not compared. */
bool tic_looks_leave(void);
/* Before the callback of this task: logs them; in a restart gives them back. Any thread. */
void tic_looks_note_callback(const struct tic_small *small, uint64_t key);
void tic_looks_show_callback(uint64_t key);
/* The data was registered, or leaves. */
void tic_looks_add(struct tic_handle *handle);
void tic_looks_remove(struct tic_handle *handle);
