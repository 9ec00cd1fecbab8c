/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that nobody registered, to which something leads: variables of the program, arguments of
 * tasks, registered data at the beginning of a larger block. Guarded by the lock of statics.c. */
#pragma once

#include "graph/handle.h"
#include "unseen/beside.h"

void tic_blocks_note_data(const struct tic_handle *handle);
/* main() gives the block of malloc() back. No lock. */
void tic_blocks_note_freed(const void *block);
void tic_blocks_note_pointers(const char *const *pointers, unsigned count);
/* Functions of main() may return now, and leave their variables. */
void tic_blocks_forget_pointers(void);
/* Is what seemed to be a block of malloc() still one? Memory that nobody has initialised holds what
 * malloc() kept there before. */
bool tic_blocks_has(const struct tic_beside *range);
/* Adds all of it to what is watched. False if there was more than lists have room for. */
bool tic_blocks_watch(const struct tic_others *others);
