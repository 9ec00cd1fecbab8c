/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole transfers to and from files, on the calling thread: interrupted calls go on. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Writes all pieces, which it changes, one after the other. 0 or -errno. */
int tic_transfer_write(int fd, struct iovec *pieces, int count, uint64_t offset);
/* Reads all pieces, which it changes, one after the other. 0; -ENODATA at the end of the file;
 * other -errno. */
int tic_transfer_read_all(int fd, struct iovec *pieces, int count, uint64_t offset);
/* Reads up to `size` bytes: how many, 0 at the end of the file, or -errno. */
ssize_t tic_transfer_read(int fd, void *bytes, size_t size, uint64_t offset);
