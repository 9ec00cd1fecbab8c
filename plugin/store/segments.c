/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: its open segment files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "store/schema.h"
#include "store/store.h"

enum { NAME_SIZE = 64 };

int tic_store_add_segment(struct tic_store *store, uint64_t number, int fd)
{
    if (tic_append(store->segments, store->segment_count, store->segment_capacity,
                   &(struct tic_store_segment){.number = number, .fd = fd}) != 0)
        return -ENOMEM;
    tic_io_map(fd);
    if (number >= store->next_segment)
        store->next_segment = number + 1;
    return 0;
}

int tic_store_open_segment(struct tic_store *store, uint64_t number)
{
    char name[NAME_SIZE];

    for (unsigned long i = 0; i < store->segment_count; i++)
        if (store->segments[i].number == number)
            return store->segments[i].fd;
    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process, (unsigned long long)number);
    int fd = openat(store->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int status = tic_store_add_segment(store, number, fd);
    if (status)
        close(fd);
    return status ? status : fd;
}

void tic_store_remove_segment(struct tic_store *store, unsigned long i)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process,
             (unsigned long long)store->segments[i].number);
    tic_io_close(store->segments[i].fd);
    unlinkat(store->directory, name, 0); /* if it stays, the next restart removes it */
    store->segments[i] = store->segments[--store->segment_count];
    store->counts.segments_removed++;
    tic_failpoint(TIC_FAIL_SEGMENT_REMOVED);
}

int tic_store_peek_segment(const struct tic_store *store, uint64_t number)
{
    char name[64];

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process, (unsigned long long)number);
    int fd = openat(store->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}
