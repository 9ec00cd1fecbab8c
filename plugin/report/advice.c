/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Advice of `starpu-tic check`: the file beside the directory of a run. */
#include "report/advice.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Immutable once it was read. */
static uint64_t *logged; /* ids, ascending */
static unsigned long count, capacity;
static bool there;

/* ---- the file ------------------------------------------------------------------------------- */

static char *path_of(const char *directory)
{
    size_t length = strlen(directory);
    char *path = NULL;

    while (length > 1 && directory[length - 1] == '/')
        length--;
    return asprintf(&path, "%.*s.advice", (int)length, directory) < 0 ? NULL : path;
}

/* The rule of the store: what others can change is not to be trusted. */
static int check_trust(int file)
{
    struct stat info;

    if (fstat(file, &info) != 0)
        return -errno;
    return S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
                   (info.st_mode & (S_IWGRP | S_IWOTH)) == 0
               ? 0
               : -EPERM;
}

/* *file is NULL, and the status 0, when there is none. */
static int open_trusted(const char *path, FILE **file)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int status = fd < 0 ? -errno : check_trust(fd);

    *file = status == 0 ? fdopen(fd, "r") : NULL;
    if (!*file && fd >= 0)
        close(fd);
    return status == -ENOENT ? 0 : status;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool add(uint64_t id)
{
    uint64_t *grown = tic_grow(logged, &capacity, count + 1, sizeof(*logged));

    if (!grown)
        return false;
    logged = grown;
    logged[count++] = id;
    return true;
}

/* False: it says nothing that is known here. */
static bool read_line(const char *line)
{
    uint64_t id;
    int end = 0;

    line += strspn(line, " \t");
    if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
        return true;
    return sscanf(line, "log %" SCNu64 "%n", &id, &end) == 1 &&
           line[end + strspn(line + end, " \t\r\n")] == '\0' && add(id);
}

static int compare(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

static void read_lines(FILE *file, const char *path)
{
    char *line = NULL;
    size_t size = 0;

    for (unsigned long number = 1; getline(&line, &size, file) >= 0; number++)
        if (!read_line(line))
            tic_log(TIC_LOG_WARN, "%s, line %lu, is ignored: it is not \"log ID\"", path, number);
    free(line);
    qsort(logged, count, sizeof(*logged), compare);
}

void tic_advice_read(const char *directory)
{
    char *path = path_of(directory);
    FILE *file = NULL;
    int status = path ? open_trusted(path, &file) : -ENOMEM;

    count = 0;
    there = file != NULL;
    if (status)
        tic_log(TIC_LOG_WARN, "the advice in %s.advice is ignored: %s", directory,
                status == -EPERM ? "it belongs to another user, or others may write to it"
                                 : strerror(-status));
    if (file) {
        read_lines(file, path);
        fclose(file);
        tic_log(TIC_LOG_DETAIL, "advice in %s: main() touches %lu pieces of data by plain pointers",
                path, count);
    }
    free(path);
}

bool tic_advice_is_there(void)
{
    return there;
}

bool tic_advice_logs(const struct tic_handle *handle)
{
    return count > 0 && bsearch(&handle->id, logged, count, sizeof(*logged), compare);
}
