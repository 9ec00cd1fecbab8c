/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of the program that it may give back at any moment, and blocks that malloc() gave out. */
#ifndef TIC_UNSEEN_HEAP_H
#define TIC_UNSEEN_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* False if it is not all there any more. */
bool tic_heap_read(const char *at, char *bytes, size_t size);
/* The bytes of the block that begins there, by what the GNU C library keeps before it; 0: it seems
 * to be something else, or has more than `most`. */
size_t tic_heap_block(const char *at, size_t most);
/* The block that has this address in it, its beginning no more than 4 KiB before, and its bytes;
 * NULL: none that also has others after it. */
const char *tic_heap_around(const char *at, size_t most, size_t *bytes);
/* The block in use that has this address in it, for sure, and its bytes, if data of `size` bytes
 * from there on does not seem to fit: all blocks of the heap are gone through up to its end. NULL:
 * it fits, or nobody knows. */
const char *tic_heap_sure(const char *at, size_t size, size_t *bytes);
/* Does a mutex seem to begin there, which somebody held or holds? copy: what was there before. */
bool tic_heap_is_mutex(const char *at, const char *copy);
/* Makes mutexes that somebody seems to hold look like free ones. The bytes are a copy, aligned as
 * the memory is. */
void tic_heap_hide_mutexes(char *bytes, size_t size);
#endif
