/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For preloaded libraries of tests: which calls are on files of the store. */
#ifndef TIC_LIB_CALLS_H
#define TIC_LIB_CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *tic_calls_path; /* the directory; NULL: none; immutable after start */

static bool is_below(const char *file)
{
    size_t length = tic_calls_path ? strlen(tic_calls_path) : 0;
    return length > 0 && strncmp(file, tic_calls_path, length) == 0 &&
           (file[length] == '\0' || file[length] == '/' || file[length] == ' ');
}

static bool fd_is_ours(int fd)
{
    char link[64], file[PATH_MAX];

    if (!tic_calls_path)
        return false;
    int before = errno;
    snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    ssize_t length = readlink(link, file, sizeof(file) - 1);
    errno = before;
    if (length <= 0)
        return false;
    file[length] = '\0';
    return is_below(file);
}

static bool is_ours(int directory, const char *name)
{
    if (!tic_calls_path)
        return false;
    return name[0] == '/' && strncmp(name, "/proc/", 6) != 0 ? is_below(name)
           : strncmp(name, "/proc/thread-self/fd/", 21) == 0 ? fd_is_ours(atoi(name + 21))
                                                             : fd_is_ours(directory);
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

/* The mode that open has for these flags. */
#define MODE_OF(flags, mode)                                                                       \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

#endif
