/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing that nobody waits for longer than a patience: a file system may hang, and a
 * thread that it holds cannot be freed again. So threads of ours call it for the others, which give
 * up the call, and leave the thread to it, when it takes too long. As long as one call hangs, all
 * others fail at once. */
#ifndef TIC_BASE_IO_H
#define TIC_BASE_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    TIC_IO_THREADS = 8,       /* calls at a time */
    TIC_IO_PIECES = 256,      /* of one write, at most */
    TIC_IO_SMALL = 1 << 13,   /* bytes: so much is copied, more is taken where it is */
    TIC_IO_PER_READ = 1 << 16 /* bytes at most */
};

/* Starts the threads, for calls of at most so many seconds each; without them calls are made by
 * who wants them, and may hang. So are reads and writes when having them made has taken a thread
 * this share of its time, unless it is 100. 0 or -errno. One thread at a time, as the next one. */
int tic_io_start(double patience, unsigned percent);
/* Ends those threads that no call holds. */
void tic_io_stop(void);
/* Does a call hang now? */
bool tic_io_is_stuck(void);

/* Calls that were made for others; those that were not because of the share. */
uint64_t tic_io_handed(void);
uint64_t tic_io_not_handed(void);

enum tic_io_way {
    TIC_IO_SHARE,  /* calls are made for the thread within the share: tasks, main() */
    TIC_IO_ALWAYS, /* without a share: what it holds while it calls would hold tasks */
    TIC_IO_OWN     /* it makes them itself, and may hang: nobody waits for it */
};
/* For this thread from now on. Gives what was before. */
enum tic_io_way tic_io_set_way(enum tic_io_way way);

/* Has a thread that makes its calls itself waited for one so long? Not those of TIC_IO_OWN. */
bool tic_io_waits(double seconds);

/* All of these: -ETIME when the call takes too long, or another one hangs. */
/* Writes all of it. Changes the pieces. After -ETIME it may be written yet: the place in the file
 * must not be used again, but the memory may, as only the kernel reads it. 0 or -errno. */
int tic_io_write(int fd, struct iovec *pieces, int count, uint64_t offset);
/* As pread does. Bytes or -errno. */
ssize_t tic_io_read(int fd, void *bytes, size_t size, uint64_t offset);
/* Calls it. After -ETIME it is still being called. 0 or -ETIME. */
int tic_io_call(void (*call)(void *arg), void *arg);

/* Closes the file, at once or when no call hangs on it any more. */
void tic_io_close(int fd);

#endif
