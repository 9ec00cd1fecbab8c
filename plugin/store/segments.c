/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: its open segment files, and numbers of descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "store/schema.h"
#include "store/store.h"

enum { NAME_SIZE = 64 };

/* Programs that close all descriptors get low numbers for what they open next: ours stay away, and
 * take no more than a quarter of those that a process may have. False: they may be anywhere. */
static bool find_lowest(rlim_t *lowest, rlim_t *most)
{
    enum { LOWEST = 400 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    *lowest = limit.rlim_cur / 4 * 3 < LOWEST ? limit.rlim_cur / 4 * 3 : LOWEST;
    *most = limit.rlim_cur / 4;
    return true;
}

int tic_store_keep_fd(int fd)
{
    rlim_t lowest, most;

    if (fd < 0 || !find_lowest(&lowest, &most))
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)lowest), error = errno;
    close(fd);
    if (high >= 0 && (rlim_t)high >= lowest + most) {
        close(high);
        high = -1;
        error = EMFILE;
    }
    errno = error;
    return high;
}

void tic_store_make_room_for_fds(void)
{
    int fd = tic_store_keep_fd(open("/", O_PATH | O_CLOEXEC));

    if (fd >= 0)
        close(fd);
}

int tic_store_add_segment(struct tic_store *store, uint64_t number, int fd)
{
    void *grown = tic_grow(store->segments, &store->segment_capacity, store->segment_count + 1,
                           sizeof(*store->segments));
    if (!grown)
        return -ENOMEM;
    store->segments = grown;
    store->segments[store->segment_count++] =
        (struct tic_store_segment){.number = number, .fd = fd};
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
    int fd = tic_store_keep_fd(openat(store->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
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
