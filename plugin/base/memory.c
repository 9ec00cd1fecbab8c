/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory there is. */
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A number in a file. UINT64_MAX: no such file, or it says "max". */
static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    uint64_t number = UINT64_MAX;

    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    fclose(file);
    return number;
}

/* Of a group and those above it. Changes the path. */
static uint64_t limit_of(const char *mount, char *group, const char *name)
{
    uint64_t least = UINT64_MAX;

    for (bool more = true; more;) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof(path), "%s%s/%s", mount, group, name);
        uint64_t limit = read_number(path);
        least = limit < least ? limit : least;
        char *last = strrchr(group, '/');
        more = last != NULL;
        if (more)
            *last = '\0';
    }
    return least;
}

/* Lines are "number:controllers:/path"; version 2 of control groups has no controllers. */
uint64_t tic_memory_limit(const char *groups, const char *mount)
{
    FILE *file = fopen(groups, "re");
    char line[PATH_MAX], below[PATH_MAX];
    uint64_t least = UINT64_MAX;

    if (!file)
        return UINT64_MAX;
    snprintf(below, sizeof(below), "%s/memory", mount);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        uint64_t limit = UINT64_MAX;
        if (controllers[1] == '\0')
            limit = limit_of(mount, group, "memory.max");
        else if (strstr(controllers, "memory"))
            limit = limit_of(below, group, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    fclose(file);
    return least;
}

uint64_t tic_memory_total(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = tic_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");

    return limit < machine ? limit : machine;
}

uint64_t tic_memory_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t pages = UINT64_MAX;

    if (file && fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = UINT64_MAX;
    if (file)
        fclose(file);
    return pages == UINT64_MAX ? pages : pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t tic_memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    uint64_t kilobytes = UINT64_MAX / 1024;

    while (file && fgets(line, sizeof(line), file) &&
           sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) != 1)
        ;
    if (file)
        fclose(file);
    return kilobytes == UINT64_MAX / 1024 ? UINT64_MAX : kilobytes * 1024;
}
