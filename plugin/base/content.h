/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Content of files as it is now, read apart (apart.h): no descriptor stays. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* All bytes, and a '\0' (malloc'ed), also of a file of /proc. NULL and errno. */
char *tic_content_read(const char *path, size_t *size);
/* The same as a stream, to be read and closed. NULL and errno. */
FILE *tic_content_open(const char *path);
/* All bytes of a file that is not empty, until munmap(). NULL. */
const char *tic_content_map(const char *path, size_t *size);
/* Its size and XXH3. 0 or -errno. */
int tic_content_hash(const char *path, uint64_t *size, uint64_t *hash);
