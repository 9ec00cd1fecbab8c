/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory there is. */
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/content.h"

/* A number in a file. UINT64_MAX: no such file, or it says "max". */
static uint64_t read_number(const char *path)
{
    FILE *file = tic_content_open(path);
    uint64_t number = UINT64_MAX;

    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    fclose(file);
    return number;
}

/* A field of memory.stat, or 0. */
static uint64_t read_field(FILE *file, const char *name)
{
    char line[128], format[64];
    uint64_t number = 0;

    snprintf(format, sizeof(format), "%s %%" SCNu64, name);
    rewind(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, format, &number) == 1)
            return number;
    return 0;
}

/* The names of what a version of control groups tells, the version's limits first. */
struct version {
    const char *limits[2], *usage, *active, *inactive, *dirty, *writeback, *events;
};

static const struct version versions[] = {
    {{"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     "total_active_file",
     "total_inactive_file",
     "total_dirty",
     "total_writeback",
     "memory.oom_control"},
    {{"memory.max", "memory.high"},
     "memory.current",
     "active_file",
     "inactive_file",
     "file_dirty",
     "file_writeback",
     "memory.events"},
};

/* Pages of files that are on disk give way. */
static uint64_t reclaimable(const char *path, const struct version *version)
{
    FILE *file = tic_content_open(path);

    if (!file)
        return 0;
    uint64_t cached = read_field(file, version->active) + read_field(file, version->inactive);
    uint64_t dirty = read_field(file, version->dirty) + read_field(file, version->writeback);
    fclose(file);
    return cached > dirty ? cached - dirty : 0;
}

static uint64_t limit_of(const char *folder, const struct version *version)
{
    char path[2 * PATH_MAX];
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 2 && version->limits[i]; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, version->limits[i]);
        uint64_t limit = read_number(path);
        least = limit < least ? limit : least;
    }
    return least;
}

/* Larger ones are how the first version says that there is none. */
#define NO_LIMIT (UINT64_C(1) << 60)

static uint64_t left_of(const char *folder, const struct version *version)
{
    char path[2 * PATH_MAX];
    uint64_t limit = limit_of(folder, version);

    if (limit >= NO_LIMIT)
        return UINT64_MAX;
    snprintf(path, sizeof(path), "%s/%s", folder, version->usage);
    uint64_t used = read_number(path);
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    uint64_t free = reclaimable(path, version);
    if (used == UINT64_MAX)
        return UINT64_MAX;
    used = used > free ? used - free : 0;
    return limit > used ? limit - used : 0;
}

typedef uint64_t (*question)(const char *folder, const struct version *version);

/* Those above count what others did, too. As the least is taken, it is what lacks of UINT64_MAX. */
static uint64_t kills_of(const char *folder, const struct version *version)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, version->events);
    FILE *file = tic_content_open(path);
    uint64_t kills = file ? read_field(file, "oom_kill") : 0;
    if (file)
        fclose(file);
    return UINT64_MAX - kills;
}

/* The least answer of a group and those above it. Changes the path. */
static uint64_t ask_path(const char *mount, char *group, const struct version *version,
                         question ask)
{
    uint64_t least = UINT64_MAX;

    for (bool more = true; more;) {
        char folder[PATH_MAX + PATH_MAX / 2];
        snprintf(folder, sizeof(folder), "%s%s", mount, group);
        uint64_t answer = ask(folder, version);
        least = answer < least ? answer : least;
        char *last = strrchr(group, '/');
        more = last != NULL && ask != kills_of;
        if (more)
            *last = '\0';
    }
    return least;
}

/* Lines are "number:controllers:/path"; version 2 of control groups has no controllers. */
static uint64_t ask_groups(const char *groups, const char *mount, question ask)
{
    FILE *file = tic_content_open(groups);
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
        uint64_t answer = UINT64_MAX;
        if (controllers[1] == '\0')
            answer = ask_path(mount, group, &versions[1], ask);
        else if (strstr(controllers, "memory"))
            answer = ask_path(below, group, &versions[0], ask);
        least = answer < least ? answer : least;
    }
    fclose(file);
    return least;
}

uint64_t tic_memory_limit(const char *groups, const char *mount)
{
    return ask_groups(groups, mount, limit_of);
}

uint64_t tic_memory_left_in(const char *groups, const char *mount)
{
    return ask_groups(groups, mount, left_of);
}

uint64_t tic_memory_kills(const char *groups, const char *mount)
{
    return UINT64_MAX - ask_groups(groups, mount, kills_of);
}

uint64_t tic_memory_total(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = tic_memory_limit(TIC_MEMORY_GROUPS, TIC_MEMORY_MOUNT);

    return limit < machine ? limit : machine;
}

uint64_t tic_memory_resident(void)
{
    FILE *file = tic_content_open("/proc/self/statm");
    uint64_t pages = UINT64_MAX;

    if (file && fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = UINT64_MAX;
    if (file)
        fclose(file);
    return pages == UINT64_MAX ? pages : pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t tic_memory_available(void)
{
    FILE *file = tic_content_open("/proc/meminfo");
    char line[256];
    uint64_t kilobytes = UINT64_MAX / 1024;

    while (file && fgets(line, sizeof(line), file) &&
           sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) != 1)
        ;
    if (file)
        fclose(file);
    return kilobytes == UINT64_MAX / 1024 ? UINT64_MAX : kilobytes * 1024;
}

/* ---- the budget ------------------------------------------------------------------------------ */

enum { PART = 4, GRANT = 8 << 20 /* bytes for which nobody looks again */ };

static _Atomic uint64_t granted; /* and not taken yet */
static _Atomic uint64_t refusals;
static _Atomic bool is_short;

/* Address space and private memory that may be written, of this process, in bytes. */
static void read_sizes(uint64_t *space, uint64_t *data, uint64_t *resident)
{
    FILE *file = tic_content_open("/proc/self/status");
    char line[256];

    *space = *data = *resident = 0;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmSize: %" SCNu64, space) != 1 &&
            sscanf(line, "RssAnon: %" SCNu64, resident) != 1 &&
            sscanf(line, "VmData: %" SCNu64, data) == 1)
            break; /* it is behind the others */
    if (file)
        fclose(file);
    *space *= 1024;
    *data *= 1024;
    *resident *= 1024;
}

static uint64_t left_by(int resource, uint64_t used)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Stacks of threads and the like are never touched, so what is untouched costs no more than a half
 * of what is left. */
uint64_t tic_memory_left(void)
{
    uint64_t space, data, resident;

    read_sizes(&space, &data, &resident);
    uint64_t left = tic_memory_left_in(TIC_MEMORY_GROUPS, TIC_MEMORY_MOUNT);
    if (left < UINT64_MAX)
        left -= least_of(data > resident ? data - resident : 0, left / 2);
    left = least_of(left, tic_memory_available());
    return least_of(left, least_of(left_by(RLIMIT_AS, space), left_by(RLIMIT_DATA, data)));
}

bool tic_memory_may_take(uint64_t bytes)
{
    uint64_t before = atomic_load(&granted);

    while (before >= bytes)
        if (atomic_compare_exchange_weak(&granted, &before, before - bytes))
            return true;
    uint64_t ours = tic_memory_left() / PART;
    bool may = bytes <= ours;
    atomic_store(&is_short, ours < 4 * (uint64_t)GRANT);
    if (may)
        atomic_store(&granted, least_of(ours - bytes, GRANT) / 2);
    else
        atomic_fetch_add(&refusals, 1);
    return may;
}

bool tic_memory_may_reserve(uint64_t bytes)
{
    uint64_t space, data, resident;

    read_sizes(&space, &data, &resident);
    return bytes <= left_by(RLIMIT_AS, space) / PART;
}

bool tic_memory_may_fork(void)
{
    uint64_t resident = tic_memory_resident();
    bool may = resident == UINT64_MAX || resident <= tic_memory_left();

    if (!may)
        atomic_fetch_add(&refusals, 1);
    return may;
}

bool tic_memory_is_short(void)
{
    return atomic_load(&is_short);
}

uint64_t tic_memory_refused(void)
{
    return atomic_load(&refusals);
}
