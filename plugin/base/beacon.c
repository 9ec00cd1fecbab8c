/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The beacon, as the supervised program finds it. */
#include "base/beacon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct tic_beacon *beacon; /* NULL: nobody supervises */
    int fd;
} guard; /* written once, before others look */

/* A descriptor may be closed by now, and its number another file's. */
static bool is_beacon(int fd, unsigned long long inode)
{
    struct stat info;

    return fstat(fd, &info) == 0 && info.st_ino == inode &&
           info.st_size == sizeof(struct tic_beacon);
}

/* What the supervisor tells: its process, and the number and file of the descriptor. */
static bool read_place(int *fd, unsigned long long *inode, int *supervisor)
{
    const char *place = secure_getenv(TIC_BEACON_VARIABLE);

    return place && sscanf(place, "%d %llu %d", fd, inode, supervisor) == 3;
}

int tic_beacon_inherited(void)
{
    unsigned long long inode;
    int fd, supervisor;

    return read_place(&fd, &inode, &supervisor) && is_beacon(fd, inode) ? fd : -1;
}

/* -1: none. What started this process may have closed the one that it inherited, as Python does. */
static int open_beacon(void)
{
    unsigned long long inode;
    char path[64];
    int fd, supervisor;

    if (!read_place(&fd, &inode, &supervisor))
        return -1;
    if (is_beacon(fd, inode))
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", supervisor, fd);
    int opened = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0 || is_beacon(opened, inode))
        return opened;
    close(opened);
    return -1;
}

static struct tic_beacon *map(void)
{
    int fd = open_beacon();
    struct tic_beacon *beacon =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(*beacon), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (beacon != MAP_FAILED && beacon->format == TIC_BEACON_FORMAT) {
        guard.beacon = beacon;
        guard.fd = fd;
        return beacon;
    }
    if (beacon != MAP_FAILED)
        munmap(beacon, sizeof(*beacon));
    if (fd >= 0)
        close(fd);
    return NULL;
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

    if (!beacon || !claim(beacon))
        return NULL;
    for (unsigned i = 0; i < TIC_BEACON_TASKS; i++) /* of a program before */
        tic_beacon_end(beacon, i);
    snprintf(beacon->directory, sizeof(beacon->directory), "%s", directory);
    return beacon;
}

bool tic_beacon_is_guarded(void)
{
    return guard.beacon && atomic_load(&guard.beacon->is_guarded);
}

/* Locks of a process end with it, and are not inherited. One that ends by itself says so before. */
bool tic_beacon_is_orphaned(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return tic_beacon_is_guarded() && fcntl(guard.fd, F_GETLK, &lock) == 0 &&
           lock.l_type == F_UNLCK && tic_beacon_is_guarded();
}
