/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/present.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/io.h"

enum { MOST_PAGES = 512 };

static struct {
    int file; /* 0: closed */
    uintptr_t first, count;
    uint64_t pages[MOST_PAGES];
} present; /* guarded by the caller */

static void open_file(void *unused)
{
    (void)unused;
    present.file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

void tic_present_begin(void)
{
    tic_apart_call(open_file, NULL);
    present.count = 0;
}

void tic_present_end(void)
{
    if (present.file > 0)
        tic_io_close(present.file);
    present.file = 0;
}

static bool read_from(uintptr_t page)
{
    ssize_t got = present.file > 0 ? tic_io_read(present.file, present.pages, sizeof(present.pages),
                                                 page * sizeof(present.pages[0]))
                                   : -1;

    present.first = page;
    present.count = got > 0 ? (uintptr_t)got / sizeof(present.pages[0]) : 0;
    return present.count > 0;
}

bool tic_present_has(const char *at, size_t size)
{
    const uint64_t in_memory = (uint64_t)1 << 63, on_swap = (uint64_t)1 << 62;
    uintptr_t bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = (uintptr_t)at / bytes, last = ((uintptr_t)at + size - 1) / bytes;

    for (; page <= last; page++) {
        if ((page < present.first || page - present.first >= present.count) && !read_from(page))
            return true;
        if (present.pages[page - present.first] & (in_memory | on_swap))
            return true;
    }
    return false;
}
