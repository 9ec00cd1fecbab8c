/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: the n-th call on files of the store fails. TIC_FAULT_PATH: the
 * directory. TIC_FAULT_AT: n, from 1 on; 0: none. TIC_FAULT_ERRNO: a number. TIC_FAULT_ON: 1: so do
 * all calls after it. TIC_FAULT_CALLS: files (default); hang: such calls never come back, from the
 * first one of a thread of ours (TIC_FAULT_START: of any) on, or not before the file
 * TIC_FAULT_UNTIL is there; or memory: what libstarputic allocates. TIC_FAULT_LOCKS: there are no
 * record locks. TIC_FAULT_COUNT: file that gets the number of such calls at exit. */
/* Calls with offsets of both sizes are defined here, by their own names. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/calls.h"

/* these are immutable after start */
static long at;
static int code;
static bool on, memory, hang;
static uintptr_t begin, end; /* of libstarputic */
static atomic_long calls;
static atomic_bool ours; /* hang: a thread of ours has been here */
static __thread bool inside __attribute__((tls_model("initial-exec")));

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (!strstr(info->dlpi_name, "libstarputic.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            begin = info->dlpi_addr + header->p_vaddr;
            end = begin + header->p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    const char *calls_text = getenv("TIC_FAULT_CALLS");

    at = getenv("TIC_FAULT_AT") ? atol(getenv("TIC_FAULT_AT")) : 0;
    code = getenv("TIC_FAULT_ERRNO") ? atoi(getenv("TIC_FAULT_ERRNO")) : EIO;
    on = getenv("TIC_FAULT_ON") && strcmp(getenv("TIC_FAULT_ON"), "1") == 0;
    memory = calls_text && strcmp(calls_text, "memory") == 0;
    hang = calls_text && strcmp(calls_text, "hang") == 0;
    tic_calls_path = memory ? NULL : getenv("TIC_FAULT_PATH");
    dl_iterate_phdr(find_library, NULL);
}

__attribute__((destructor)) static void write_count(void)
{
    const char *name = getenv("TIC_FAULT_COUNT");
    FILE *file = name && calls > 0 ? fopen(name, "we") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static bool is_before_threads(void)
{
    char name[16] = "";

    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strncmp(name, "tic-", 4) == 0 && strcmp(name, "tic-files") != 0) /* what main() waits for */
        ours = true;
    return !ours && !getenv("TIC_FAULT_START");
}

static void await_file(const char *name)
{
    const struct timespec look = {.tv_nsec = 1000000};

    while (!name || faccessat(AT_FDCWD, name, F_OK, 0) != 0)
        nanosleep(&look, NULL);
}

/* Counts a call. True: it fails. */
static bool fails(void)
{
    if (hang && is_before_threads())
        return false;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (at == 0 || (on ? number < at : number != at))
        return false;
    if (hang)
        await_file(getenv("TIC_FAULT_UNTIL"));
    if (hang)
        return false;
    errno = code;
    return true;
}

/* ---- files ---------------------------------------------------------------------------------- */

#define OPEN(name)                                                                                 \
    int name(const char *file, int flags, ...)                                                     \
    {                                                                                              \
        MODE_OF(flags, mode)                                                                       \
        int (*real)(const char *, int, ...) = next(#name);                                         \
        return is_ours(AT_FDCWD, file) && fails() ? -1 : real(file, flags, mode);                  \
    }
#define OPENAT(name)                                                                               \
    int name(int directory, const char *file, int flags, ...)                                      \
    {                                                                                              \
        MODE_OF(flags, mode)                                                                       \
        int (*real)(int, const char *, int, ...) = next(#name);                                    \
        return is_ours(directory, file) && fails() ? -1 : real(directory, file, flags, mode);      \
    }
/* CALL(type, name, (parameters), (arguments)): of calls with a descriptor fd. */
#define CALL(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        type(*real) parameters = next(#name);                                                      \
        return fd_is_ours(fd) && fails() ? (type)-1 : real arguments;                              \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
CALL(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
CALL(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset),
     (fd, bytes, size, offset))
CALL(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t offset),
     (fd, bytes, size, offset))
CALL(ssize_t, pwritev, (int fd, const struct iovec *runs, int count, off_t offset),
     (fd, runs, count, offset))
CALL(ssize_t, pwritev64, (int fd, const struct iovec *runs, int count, off64_t offset),
     (fd, runs, count, offset))
CALL(int, fsync, (int fd), (fd))
CALL(int, fdatasync, (int fd), (fd))
CALL(int, sync_file_range, (int fd, off64_t offset, off64_t count, unsigned flags),
     (fd, offset, count, flags))
CALL(int, ftruncate, (int fd, off_t size), (fd, size))
CALL(int, ftruncate64, (int fd, off64_t size), (fd, size))

/* The descriptor is gone all the same, as Linux has it. */
int close(int fd)
{
    int (*real)(int) = next("close");
    bool bad = fd_is_ours(fd) && fails();
    int status = real(fd);
    if (!bad)
        return status;
    errno = code;
    return -1;
}

int unlinkat(int directory, const char *file, int flags)
{
    int (*real)(int, const char *, int) = next("unlinkat");
    return is_ours(directory, file) && fails() ? -1 : real(directory, file, flags);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    int (*real)(int, int, off_t, off_t) = next("fallocate");
    return fd_is_ours(fd) && fails() ? -1 : real(fd, mode, offset, length);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = next("rename");
    return is_ours(AT_FDCWD, from) && fails() ? -1 : real(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    int (*real)(int, const char *, int, const char *) = next("renameat");
    return is_ours(from_directory, from) && fails() ? -1
                                                    : real(from_directory, from, to_directory, to);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = next("mmap");
    return fd >= 0 && fd_is_ours(fd) && fails()
               ? MAP_FAILED
               : real(address, size, protection, flags, fd, offset);
}

/* The calls of libhdf5 shall come here, too. */
void *dlopen(const char *file, int flags)
{
    void *(*real)(const char *, int) = next("dlopen");
    bool store = file && strstr(file, "tic-store.so");
    return real(file, store ? flags & ~RTLD_DEEPBIND : flags);
}

/* A file system without locks of fcntl(), or of flock(): TIC_FAULT_LOCKS, TIC_FAULT_FLOCK say its
 * error. */
static bool lacks(const char *name)
{
    const char *error = getenv(name);
    errno = error ? atoi(error) : errno;
    return error;
}

#define FCNTL(name)                                                                                \
    int name(int fd, int command, ...)                                                             \
    {                                                                                              \
        int (*real)(int, int, ...) = next(#name);                                                  \
        va_list args;                                                                              \
        va_start(args, command);                                                                   \
        void *argument = va_arg(args, void *);                                                     \
        va_end(args);                                                                              \
        bool fails = command == F_SETLK && lacks("TIC_FAULT_LOCKS");                               \
        return fails ? -1 : real(fd, command, argument);                                           \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int fd, int command)
{
    int (*real)(int, int) = next("flock");
    return lacks("TIC_FAULT_FLOCK") ? -1 : real(fd, command);
}

/* ---- memory --------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static bool no_memory(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    if (!memory || address < begin || address >= end || inside)
        return false;
    inside = true;
    bool bad = fails();
    inside = false;
    if (bad)
        errno = ENOMEM;
    return bad;
}

void *malloc(size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
