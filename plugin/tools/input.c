/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The standard input of a program that runs several times. */
#include "tools/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int save(const char *path, bool *any)
{
    char buffer[65536];
    ssize_t got = 0;
    int status = 0;

    *any = false;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    while (!isatty(STDIN_FILENO) && (got = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0) {
        *any = true;
        if (write(file, buffer, (size_t)got) != got)
            status = -(errno ? errno : ENOSPC);
        if (status)
            break;
    }
    /* A program without a standard input, or in the background of a terminal, gets an empty one. */
    if (got < 0 && errno != EBADF && errno != EIO)
        status = -errno;
    return close(file) != 0 ? -errno : status;
}

bool tic_input_save(const char *path, bool *any)
{
    int status = save(path, any);

    if (status)
        fprintf(stderr, "starpu-tic: cannot keep the standard input: %s\n", strerror(-status));
    return status == 0;
}

bool tic_input_give(const char *path)
{
    int file = open(path, O_RDONLY);

    if (file < 0 || dup2(file, STDIN_FILENO) < 0)
        return false;
    if (file != STDIN_FILENO)
        close(file);
    return true;
}
