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

/* The mark counts, whatever it says. */
int tic_mark_set(const char *directory, const char *what, bool sync)
{
    char *path = path_in(directory);

    if (!path)
        return -ENOMEM;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int status = fd >= 0 ? 0 : errno == EEXIST ? 0 : -errno;
    if (fd >= 0) {
        dprintf(fd, "%s", what);
        close(fd);
    }
    free(path);
    return status == 0 && sync ? sync_names(directory) : status;
}

void tic_mark_read(const char *directory, char *what, size_t size)
{
    char *path = path_in(directory);
    int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    ssize_t length = fd >= 0 ? read(fd, what, size - 1) : 0;

    what[length > 0 ? length : 0] = '\0';
    for (char *c = what; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    if (fd >= 0)
        close(fd);
    free(path);
}

bool tic_mark_is_set(const char *directory)
{
    char *path = path_in(directory);
    struct stat info;
    bool is_set = !path || lstat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);

    free(path);
    return is_set;
}

int tic_mark_copy(const char *from, const char *to)
{
    char what[512];

    tic_mark_read(from, what, sizeof(what));
    return tic_mark_set(to, what, true);
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
