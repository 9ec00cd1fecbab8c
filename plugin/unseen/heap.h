/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of the program that it may give back at any moment, and blocks that main() has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False if it is not all there any more. */
bool tic_heap_read(const char *at, char *bytes, size_t size);
/* main() has got such a block, by malloc() or mmap(): its own, and not one of StarPU's or ours.
 * is_whole: no other block lies in it. One thread at a time. */
void tic_heap_note(const char *at, size_t bytes, bool is_whole);
/* Somebody gives it back, or a thread has it now. NULL: nothing. Any thread. */
void tic_heap_forget(const char *at);
/* The bytes of the block of main() that begins there; 0: none, or nobody knows. */
size_t tic_heap_block(const char *at);
/* The block of main() that has this address in it, and its bytes; NULL: none, or nobody knows. One
 * that is not whole begins less than 4 KiB before. */
const char *tic_heap_around(const char *at, size_t *bytes);
/* Could the block be one of mmap(), of which parts may be given back, or a file? */
static inline bool tic_heap_is_mapped(const char *block)
{
    return (uintptr_t)block % 4096 == 0;
}
/* Does a mutex seem to begin there, which somebody held or holds? copy: what was there before. */
bool tic_heap_is_mutex(const char *at, const char *copy);
/* Makes mutexes that somebody seems to hold look like free ones. The bytes are a copy, aligned as
 * the memory is. */
void tic_heap_hide_mutexes(char *bytes, size_t size);
