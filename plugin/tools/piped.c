/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/piped.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT = 200 /* milliseconds for a writer that has just been started */ };

static bool is_piped;
static bool came_in;  /* something was there to be read, or nothing will come any more */
static char *content; /* of a pipe that nobody writes to any more; NULL: not known */
static int size;
static bool was_read; /* some of it */

static int events(short wanted, int milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = wanted};

    return poll(&input, 1, milliseconds) > 0 ? input.revents : 0;
}

static int unread(void)
{
    int bytes;

    return ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 ? bytes : -1;
}

/* As large as the one that holds it. */
static bool make_pipe(int ends[2])
{
    int capacity = fcntl(STDIN_FILENO, F_GETPIPE_SZ);

    if (capacity < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    return fcntl(ends[1], F_SETPIPE_SZ, capacity) >= capacity;
}

/* tee() leaves what it copies where it is. */
static void copy_content(void)
{
    int ends[2] = {-1, -1}, there = unread();
    char *copy = there < 0 ? NULL : malloc((size_t)there + 1);
    bool whole =
        copy && make_pipe(ends) &&
        (there == 0 || (tee(STDIN_FILENO, ends[1], (size_t)there, SPLICE_F_NONBLOCK) == there &&
                        read(ends[0], copy, (size_t)there) == there));

    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (!whole) {
        free(copy);
        return;
    }
    content = copy;
    size = there;
}

void tic_piped_begin(void)
{
    struct stat info;

    is_piped =
        fstat(STDIN_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
    if (!is_piped)
        return;
    if ((events(0, WAIT) & POLLHUP) != 0 && S_ISFIFO(info.st_mode))
        copy_content();
    tic_piped_look();
}

void tic_piped_look(void)
{
    came_in = came_in || (is_piped && events(POLLIN, 0) != 0);
}

enum tic_piped tic_piped_end(void)
{
    tic_piped_look();
    was_read = was_read || (content && unread() != size);
    if (!is_piped || content)
        return TIC_PIPED_THERE;
    return came_in ? TIC_PIPED_GONE : TIC_PIPED_UNKNOWN;
}

bool tic_piped_again(int *input)
{
    int ends[2] = {-1, -1};

    *input = -1;
    if (!was_read)
        return true;
    bool whole = make_pipe(ends) && (size == 0 || write(ends[1], content, (size_t)size) == size);
    if (ends[1] >= 0)
        close(ends[1]);
    if (!whole && ends[0] >= 0)
        close(ends[0]);
    *input = ends[0];
    return whole;
}
