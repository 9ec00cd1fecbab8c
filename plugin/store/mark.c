/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mark beside recovery lines: tasks have written memory that is not registered data. */
#include "store/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/schema.h"

/* malloc'ed, or NULL. */
static char *path_in(const char *directory)
{
    char *path;

    return asprintf(&path, "%s/" TIC_FILE_UNREGISTERED, directory, 0u) < 0 ? NULL : path;
}

static int sync_names(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd < 0 || fsync(fd) != 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return status;
}

int tic_mark_set(const char *directory, bool sync)
{
    char *path = path_in(directory);

    if (!path)
        return -ENOMEM;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int status = fd >= 0 ? 0 : errno == EEXIST ? 0 : -errno;
    if (fd >= 0)
        close(fd);
    free(path);
    return status == 0 && sync ? sync_names(directory) : status;
}

bool tic_mark_is_set(const char *directory)
{
    char *path = path_in(directory);
    struct stat info;
    bool is_set = !path || lstat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);

    free(path);
    return is_set;
}

int tic_mark_clear(const char *directory)
{
    char *path = path_in(directory);

    if (!path)
        return -ENOMEM;
    int status = unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
    free(path);
    return status;
}

bool tic_mark_is_named(const char *name)
{
    char ours[64];

    snprintf(ours, sizeof(ours), TIC_FILE_UNREGISTERED, 0u);
    return strcmp(name, ours) == 0;
}
