/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The beacon, as the supervised program finds it. */
#include "base/beacon.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor may be closed by now, and its number another file's: the inode tells. */
static struct tic_beacon *map(void)
{
    const char *place = secure_getenv(TIC_BEACON_VARIABLE);
    unsigned long long inode;
    struct stat info;
    int fd;

    if (!place || sscanf(place, "%d %llu", &fd, &inode) != 2 || fstat(fd, &info) != 0 ||
        info.st_ino != inode || info.st_size != sizeof(struct tic_beacon))
        return NULL;
    void *memory = mmap(NULL, sizeof(struct tic_beacon), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A script may start several programs, one after the other. */
static bool claim(struct tic_beacon *beacon)
{
    int32_t before = atomic_load(&beacon->process);

    if (before != 0 && (kill(before, 0) == 0 || errno == EPERM))
        return false;
    return atomic_compare_exchange_strong(&beacon->process, &before, getpid());
}

struct tic_beacon *tic_beacon_take(const char *directory)
{
    struct tic_beacon *beacon = map();

    if (beacon && beacon->format == TIC_BEACON_FORMAT && claim(beacon)) {
        for (unsigned i = 0; i < TIC_BEACON_TASKS; i++) /* of a program before */
            tic_beacon_end(beacon, i);
        snprintf(beacon->directory, sizeof(beacon->directory), "%s", directory);
        return beacon;
    }
    if (beacon)
        munmap(beacon, sizeof(*beacon));
    return NULL;
}
