/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that the program has mapped itself (mmap, shmat). */
#ifndef TIC_UNSEEN_MAPPED_H
#define TIC_UNSEEN_MAPPED_H

#include <stddef.h>

/* The bytes from this page on that can only belong to the mapping that begins there, or in which it
 * lies: up to the end of one that is shared or has a file; one page of private memory, as the
 * kernel makes one of such mappings that touch, and the next may be anybody's. 0: none that the
 * program can write, the heap, a stack, an object or a device. Reads the list of mappings at the
 * first call after tic_mapped_forget(). One thread at a time. */
size_t tic_mapped_bytes(const char *at);
void tic_mapped_forget(void);

#endif
