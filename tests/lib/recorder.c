/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: records what is written to files of the directory TIC_RECORD_PATH,
 * what is forced to the disk, and how names change, in order, in the file TIC_RECORD. */
/* Calls with offsets of both sizes are defined here, by their own names. */
#undef _FILE_OFFSET_BITS
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "lib/calls.h"
#include "lib/stream.h"

static const char *stream_path; /* immutable after start */
/* Threads of the library have another table of descriptors than the program's. */
static __thread int stream = -1;
/* Held over each call and its record, so that both have the same order. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static void append(const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = next("write");
    if (stream < 0)
        stream = (int)syscall(SYS_openat, AT_FDCWD, stream_path,
                              O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (real(stream, bytes, size) != (ssize_t)size)
        abort();
}

__attribute__((constructor)) static void start(void)
{
    stream_path = getenv("TIC_RECORD");
    tic_calls_path = stream_path ? getenv("TIC_RECORD_PATH") : NULL;
}

static void record(enum tic_call call, uint64_t file, uint64_t offset, uint64_t size,
                   const char *name, size_t name_size)
{
    struct tic_call_head head = {call, (uint32_t)name_size, file, offset, size};
    int before = errno;

    append(&head, sizeof(head));
    if (name_size > 0)
        append(name, name_size);
    errno = before;
}

static uint64_t inode_of(int fd)
{
    struct stat info;
    int before = errno;
    uint64_t inode = fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode) ? info.st_ino : 0;
    errno = before;
    return inode;
}

/* ---- files ---------------------------------------------------------------------------------- */

#define OPENAT(name)                                                                               \
    int name(int directory, const char *file, int flags, ...)                                      \
    {                                                                                              \
        MODE_OF(flags, mode)                                                                       \
        int (*real)(int, const char *, int, ...) = next(#name);                                    \
        if (!(flags & O_CREAT) || !is_ours(directory, file))                                       \
            return real(directory, file, flags, mode);                                             \
        pthread_mutex_lock(&order);                                                                \
        int fd = real(directory, file, flags, mode);                                               \
        if (fd >= 0)                                                                               \
            record(TIC_CALL_CREATE, inode_of(fd), 0, 0, file, strlen(file) + 1);                   \
        pthread_mutex_unlock(&order);                                                              \
        return fd;                                                                                 \
    }
OPENAT(openat)
OPENAT(openat64)

static ssize_t write_runs(int fd, const struct iovec *runs, int count, off_t offset)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) = next("pwritev");
    if (!fd_is_ours(fd))
        return real(fd, runs, count, offset);
    pthread_mutex_lock(&order);
    ssize_t written = real(fd, runs, count, offset);
    if (written > 0)
        record(TIC_CALL_WRITE, inode_of(fd), (uint64_t)offset, (uint64_t)written, NULL, 0);
    ssize_t left = written;
    for (int i = 0; i < count && left > 0; i++) {
        size_t bytes = (size_t)left < runs[i].iov_len ? (size_t)left : runs[i].iov_len;
        append(runs[i].iov_base, bytes);
        left -= (ssize_t)bytes;
    }
    pthread_mutex_unlock(&order);
    return written;
}

ssize_t pwritev(int fd, const struct iovec *runs, int count, off_t offset)
{
    return write_runs(fd, runs, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *runs, int count, off64_t offset)
{
    return write_runs(fd, runs, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    struct iovec run = {(void *)bytes, size};
    return write_runs(fd, &run, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return pwrite(fd, bytes, size, offset);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = next("write");
    if (!fd_is_ours(fd))
        return real(fd, bytes, size);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t written = pwrite(fd, bytes, size, offset);
    if (written > 0)
        lseek(fd, offset + written, SEEK_SET);
    return written;
}

/* CALL(name, (parameters), (arguments), what to record): of calls with a descriptor fd. */
#define CALL(name, parameters, arguments, noted)                                                   \
    int name parameters                                                                            \
    {                                                                                              \
        int(*real) parameters = next(#name);                                                       \
        if (!fd_is_ours(fd))                                                                       \
            return real arguments;                                                                 \
        pthread_mutex_lock(&order);                                                                \
        int status = real arguments;                                                               \
        if (status == 0)                                                                           \
            noted;                                                                                 \
        pthread_mutex_unlock(&order);                                                              \
        return status;                                                                             \
    }
CALL(fsync, (int fd), (fd), record(TIC_CALL_SYNC, inode_of(fd), 0, 0, NULL, 0))
CALL(fdatasync, (int fd), (fd), record(TIC_CALL_SYNC, inode_of(fd), 0, 0, NULL, 0))
CALL(ftruncate, (int fd, off_t size), (fd, size),
     record(TIC_CALL_RESIZE, inode_of(fd), 0, (uint64_t)size, NULL, 0))
CALL(ftruncate64, (int fd, off64_t size), (fd, size),
     record(TIC_CALL_RESIZE, inode_of(fd), 0, (uint64_t)size, NULL, 0))

/* ---- names ---------------------------------------------------------------------------------- */

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    int (*real)(int, const char *, int, const char *) = next("renameat");
    char names[512];
    int size = snprintf(names, sizeof(names), "%s%c%s", from, 0, to) + 1;

    if (!is_ours(from_directory, from))
        return real(from_directory, from, to_directory, to);
    pthread_mutex_lock(&order);
    int status = real(from_directory, from, to_directory, to);
    if (status == 0)
        record(TIC_CALL_RENAME, 0, 0, 0, names, (size_t)size);
    pthread_mutex_unlock(&order);
    return status;
}

int unlinkat(int directory, const char *name, int flags)
{
    int (*real)(int, const char *, int) = next("unlinkat");

    if (!is_ours(directory, name))
        return real(directory, name, flags);
    pthread_mutex_lock(&order);
    int status = real(directory, name, flags);
    if (status == 0)
        record(TIC_CALL_UNLINK, 0, 0, 0, name, strlen(name) + 1);
    pthread_mutex_unlock(&order);
    return status;
}

/* The calls of libhdf5 shall come here, too. */
void *dlopen(const char *file, int flags)
{
    void *(*real)(const char *, int) = next("dlopen");
    bool store = file && strstr(file, "tic-store.so");
    return real(file, store ? flags & ~RTLD_DEEPBIND : flags);
}
