/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: forcing a file to the disk never comes back, if its path has
 * TIC_HANG in it. As a file system does whose server is gone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang_if_meant(int fd)
{
    const char *where = getenv("TIC_HANG");
    char link[64], path[4096];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = where ? readlink(link, path, sizeof(path) - 1) : -1;
    if (length < 0)
        return;
    path[length] = '\0';
    while (strstr(path, where))
        pause();
}

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
