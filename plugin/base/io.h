/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing on threads that are apart (apart.h), that nobody waits for longer than a
 * patience: a file system may hang, and a thread that it holds cannot be freed again. So threads of
 * ours call it for the others, which give up the call, and leave the thread to it, when it takes
 * too long. As long as one call hangs, all others fail at once. */
#pragma once

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

/* Starts the threads, for calls of at most so many seconds each; without them calls may hang. 0 or
 * -errno. One thread at a time, as the next one. */
int tic_io_start(double patience);
/* Files that are opened from now on are mapped: others write to them by memory, at once, and may
 * wait. Before other threads of ours. */
void tic_io_use_maps(bool maps);
/* A file that has its final size. On a thread that is apart. */
void tic_io_map(int fd);
/* Ends those threads that no call holds. */
void tic_io_stop(void);
/* Does a call hang now? */
bool tic_io_is_stuck(void);

/* Calls that were made for others. */
uint64_t tic_io_handed(void);

/* The calling thread, if it is apart, makes its calls itself from now on, and may hang: nobody
 * waits for it. Gives what was before. */
bool tic_io_set_own(bool is_own);

/* All of these: -ETIME when the call takes too long, or another one hangs. */
/* Writes all of it. Changes the pieces. After -ETIME it may be written yet: the place in the file
 * must not be used again, but the memory may, as only the kernel reads it. 0 or -errno. */
int tic_io_write(int fd, struct iovec *pieces, int count, uint64_t offset);
/* As pread does. Bytes or -errno. */
ssize_t tic_io_read(int fd, void *bytes, size_t size, uint64_t offset);
/* Calls it. After -ETIME it is still being called. 0 or -ETIME. */
int tic_io_call(void (*call)(void *arg), void *arg);

/* Closes the file, which nobody writes by memory, at once or when no call hangs on it any more. */
void tic_io_close(int fd);
