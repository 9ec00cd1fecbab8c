/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Registered memory that main() has given to free(), without unregistering it: nobody may write
 * there, and what is there means nothing. StarPU does not notice. Any thread; a lock of its own,
 * below all others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Data that `key` stands for has its memory at `base`. Without memory for this list it is never
 * found.
 */
void tic_freed_note_data(const void *key, const void *base);
void tic_freed_forget_data(const void *key, const void *base);
/* Could there be data in the block? No lock. */
bool tic_freed_may_concern(const void *block, size_t bytes);
/* How many data begin in the block, and are freed with it now. */
unsigned tic_freed_note_block(const void *block, size_t bytes);
bool tic_freed_has(const void *key, const void *base);
