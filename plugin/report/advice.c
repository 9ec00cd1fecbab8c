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
#include "session/context.h"

struct span {
    uint64_t first, last; /* ids */
};

/* Immutable once it was read. */
static struct {
    struct span *logged, *seen; /* ascending; of `logged` each holds one id */
    unsigned long count, capacity, seen_count, seen_capacity;
    bool there;
} advice;

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

static bool add(struct span **spans, unsigned long *count, unsigned long *capacity,
                struct span span)
{
    return tic_append(*spans, *count, *capacity, &span) == 0;
}

/* False: it says nothing that is known here. */
static bool read_line(const char *line)
{
    struct span span;
    int end = 0;

    line += strspn(line, " \t");
    if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
        return true;
    bool logs = sscanf(line, "log %" SCNu64 "%n", &span.first, &end) == 1;
    if (logs)
        span.last = span.first;
    else if (sscanf(line, "seen %" SCNu64 " %" SCNu64 "%n", &span.first, &span.last, &end) != 2)
        return false;
    if (line[end + strspn(line + end, " \t\r\n")] != '\0')
        return false;
    return logs ? add(&advice.logged, &advice.count, &advice.capacity, span)
                : add(&advice.seen, &advice.seen_count, &advice.seen_capacity, span);
}

/* 0: they overlap. */
static int compare(const void *a, const void *b)
{
    const struct span *first = a, *second = b;
    return first->last < second->first ? -1 : first->first > second->last;
}

static void read_lines(FILE *file, const char *path)
{
    char *line = NULL;
    size_t size = 0;

    for (unsigned long number = 1; getline(&line, &size, file) >= 0; number++)
        if (!read_line(line))
            tic_log(TIC_LOG_WARN,
                    "%s, line %lu, is ignored: it is no \"log ID\" or \"seen FIRST LAST\"", path,
                    number);
    free(line);
    tic_sort(advice.logged, advice.count, compare);
    tic_sort(advice.seen, advice.seen_count, compare);
}

void tic_advice_read(const char *directory)
{
    char *path = path_of(directory);
    FILE *file = NULL;
    int status = path ? open_trusted(path, &file) : -ENOMEM;

    advice.count = advice.seen_count = 0;
    advice.there = file != NULL;
    if (status)
        tic_log(TIC_LOG_WARN, "the advice in %s.advice is ignored: %s", directory,
                status == -EPERM ? "it belongs to another user, or others may write to it"
                                 : strerror(-status));
    if (file) {
        read_lines(file, path);
        fclose(file);
        tic_log(TIC_LOG_DETAIL, "advice in %s: main() touches %lu pieces of data by plain pointers",
                path, advice.count);
    }
    free(path);
}

bool tic_advice_is_there(void)
{
    return advice.there;
}

static bool holds(const struct span *spans, unsigned long count, uint64_t id)
{
    const struct span one = {id, id};

    return tic_find(&one, spans, count, compare);
}

bool tic_advice_logs(const struct tic_handle *handle)
{
    return holds(advice.logged, advice.count, handle->id);
}

bool tic_advice_saw(const struct tic_handle *handle)
{
    return tic_session_sees(handle) && tic_shape_bytes(&handle->layout.shape) > TIC_ADVICE_SMALL &&
           holds(advice.seen, advice.seen_count, handle->id);
}
