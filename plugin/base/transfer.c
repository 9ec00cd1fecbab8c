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

/* none: what it gives when nothing is moved. */
static int move_all(ssize_t (*move)(int fd, const struct iovec *pieces, int count, off_t offset),
                    int fd, struct iovec *pieces, int count, uint64_t offset, int none)
{
    skip(&pieces, &count, 0);
    while (count > 0) {
        ssize_t moved = move(fd, pieces, count, (off_t)offset);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? -errno : none;
        offset += (uint64_t)moved;
        skip(&pieces, &count, (size_t)moved);
    }
    return 0;
}

int tic_transfer_write(int fd, struct iovec *pieces, int count, uint64_t offset)
{
    return move_all(pwritev, fd, pieces, count, offset, -EIO);
}

int tic_transfer_read_all(int fd, struct iovec *pieces, int count, uint64_t offset)
{
    return move_all(preadv, fd, pieces, count, offset, -ENODATA);
}

ssize_t tic_transfer_read(int fd, void *bytes, size_t size, uint64_t offset)
{
    ssize_t got;

    do
        got = pread(fd, bytes, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}
