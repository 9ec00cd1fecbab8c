/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: names of the files in its directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/schema.h"
#include "store/store.h"

int tic_store_each_name(struct tic_store *store, int (*each)(void *arg, const char *name),
                        void *arg)
{
    int fd = openat(store->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry = NULL;
    int status = 0;

    if (!dir)
        return -errno;
    do {
        errno = 0; /* or what comes after an error would not be missed */
        entry = readdir(dir);
        status = entry ? each(arg, entry->d_name) : -errno;
    } while (entry && status == 0);
    closedir(dir);
    return status;
}

bool tic_store_parse_name(const char *name, const char *format, uint64_t *number)
{
    unsigned process;
    unsigned long long parsed;
    char again[64];

    if (sscanf(name, format, &process, &parsed) != 2)
        return false;
    snprintf(again, sizeof(again), format, process, parsed);
    *number = parsed;
    return process == 0 && strcmp(again, name) == 0;
}

struct listing {
    const char *format;
    uint64_t *numbers;
    unsigned long count, capacity;
};

static int descending(const void *a, const void *b)
{
    return tic_order(*(const uint64_t *)b, *(const uint64_t *)a);
}

static int note_number(void *arg, const char *name)
{
    struct listing *listing = arg;
    uint64_t number;

    if (!tic_store_parse_name(name, listing->format, &number))
        return 0;
    return tic_append(listing->numbers, listing->count, listing->capacity, &number);
}

int tic_store_list(struct tic_store *store, const char *format, uint64_t **numbers,
                   unsigned long *count)
{
    struct listing listing = {.format = format};
    int status = tic_store_each_name(store, note_number, &listing);

    if (status == 0)
        tic_sort(listing.numbers, listing.count, descending);
    *numbers = listing.numbers;
    *count = listing.count;
    return status;
}

struct last_written {
    int directory;
    double when;
};

static int note_written(void *arg, const char *name)
{
    struct last_written *last = arg;
    struct stat info;
    uint64_t number;
    bool ours = tic_store_parse_name(name, TIC_FILE_LINE, &number) ||
                tic_store_parse_name(name, TIC_FILE_SEGMENT, &number) ||
                tic_store_parse_name(name, TIC_FILE_LOG, &number);

    if (!ours || fstatat(last->directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
        return 0;
    double when = (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9;
    if (when > last->when)
        last->when = when;
    return 0;
}

double tic_store_last_written(struct tic_store *store)
{
    struct last_written last = {store->directory, 0};

    return tic_store_each_name(store, note_written, &last) == 0 ? last.when : 0;
}
