/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole transfers to and from files. */
#include "base/transfer.h"

#include <errno.h>
#include <unistd.h>

static void skip(struct iovec **pieces, int *count, size_t bytes)
{
    while (*count > 0 && bytes >= (*pieces)->iov_len) {
        bytes -= (*pieces)->iov_len;
        (*pieces)++;
        (*count)--;
    }
    if (*count > 0) {
        (*pieces)->iov_base = (char *)(*pieces)->iov_base + bytes;
        (*pieces)->iov_len -= bytes;
    }
}

int tic_transfer_write(int fd, struct iovec *pieces, int count, uint64_t offset)
{
    skip(&pieces, &count, 0);
    while (count > 0) {
        ssize_t written = pwritev(fd, pieces, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        offset += (uint64_t)written;
        skip(&pieces, &count, (size_t)written);
    }
    return 0;
}

ssize_t tic_transfer_read(int fd, void *bytes, size_t size, uint64_t offset)
{
    ssize_t got;

    do
        got = pread(fd, bytes, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}
