/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: forcing a file to the disk never comes back, if its path has
 * TIC_HANG in it. As a file system does whose server is gone. The TIC_HANG_READ-th read of a value
 * from such a file comes back once the file TIC_HANG_UNTIL is there. */
/* Calls with offsets of both sizes are defined here, by their own names. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_meant(int fd)
{
    const char *where = getenv("TIC_HANG");
    char link[64], path[4096];

    snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    ssize_t length = where ? readlink(link, path, sizeof(path) - 1) : -1;
    if (length < 0)
        return false;
    path[length] = '\0';
    return strstr(path, where) != NULL;
}

static void hang_if_meant(int fd)
{
    while (!getenv("TIC_HANG_READ") && is_meant(fd))
        pause();
}

/* Of values: libhdf5 reads otherwise. */
#define PREADV(name, offset_type)                                                                  \
    ssize_t name(int fd, const struct iovec *runs, int count, offset_type offset)                  \
    {                                                                                              \
        static atomic_int reads;                                                                   \
        const char *at = getenv("TIC_HANG_READ"), *until = getenv("TIC_HANG_UNTIL");               \
        ssize_t (*real)(int, const struct iovec *, int, offset_type);                              \
        if (at && is_meant(fd) && ++reads == atoi(at))                                             \
            while (access(until, F_OK) != 0)                                                       \
                usleep(1000);                                                                      \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
        return real(fd, runs, count, offset);                                                      \
    }
PREADV(preadv, off_t)
PREADV(preadv64, off64_t)

int fdatasync(int fd)
{
    int (*real)(int);

    hang_if_meant(fd);
    *(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
    return real(fd);
}

int fsync(int fd)
{
    int (*real)(int);

    hang_if_meant(fd);
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}
