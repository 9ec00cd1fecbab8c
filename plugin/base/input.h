/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The standard input of this process, if it is a file. Where it is none (a terminal, a pipe),
 * nobody knows what a program reads there, and these tell that it reads nothing. */
#pragma once

#include <stdbool.h>

/* Has this process read some since it was loaded? Any thread. */
bool tic_input_was_read(void);
/* XXH3-128 of the first 64 MiB of the file, and of its size (off_t), 32 hexadecimal digits; to be
 * freed. Empty: it is none, or cannot be read. NULL: out of memory. */
char *tic_input_hash(void);
/* The same of the file with this descriptor, from its beginning. */
char *tic_input_hash_of(int fd);
