/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/printed.h"

#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <time.h>

#include "base/apart.h"

/* The stream that libc begins with is never freed; the program may close it, or give its name to
 * another one. */
static FILE *stream;

__attribute__((constructor)) static void note_stream(void)
{
    stream = stdout;
}

static _Atomic bool by_tasks; /* relaxed: a cut orders it before the look at it */

size_t tic_printed_pending(void)
{
    return stream ? __fpending(stream) : 0;
}

void tic_printed_note_task(size_t before)
{
    if (__builtin_expect(tic_printed_pending() != before, 0))
        atomic_store_explicit(&by_tasks, true, memory_order_relaxed);
}

bool tic_printed_by_tasks(void)
{
    return atomic_load_explicit(&by_tasks, memory_order_relaxed);
}

/* A pipe to which one may write has room for PIPE_BUF bytes. */
static bool may_write(void)
{
    struct pollfd look = {.fd = fileno_unlocked(stream), .events = POLLOUT};
    struct stat info;

    if (look.fd < 0 || fstat(look.fd, &info) != 0)
        return false;
    return S_ISREG(info.st_mode) ||
           (__fpending(stream) <= PIPE_BUF && poll(&look, 1, 0) == 1 && look.revents == POLLOUT);
}

static void flush(void *flushed)
{
    if (!stream || ftrylockfile(stream) != 0)
        return;
    *(bool *)flushed = __fpending(stream) == 0 || (may_write() && fflush_unlocked(stream) == 0);
    funlockfile(stream);
}

bool tic_printed_flush(void)
{
    bool flushed = false;

    tic_apart_call_beside(flush, &flushed);
    return flushed;
}

void tic_printed_flush_for_line(bool by_main)
{
    enum { TRIES = 10 };
    const struct timespec pause = {0, 1000000};

    for (int i = 0; (by_main || tic_printed_by_tasks()) && i < TRIES && !tic_printed_flush(); i++)
        nanosleep(&pause, NULL);
}
