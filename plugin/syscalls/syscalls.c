/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Wrappers of what functions.def lists: each tells of the memory, and calls the real function. */
#undef _FORTIFY_SOURCE
/* Calls with offsets of both sizes are defined here, by their own names. */
#undef _FILE_OFFSET_BITS
#include "syscalls/syscalls.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#undef fread_unlocked
#undef fwrite_unlocked

#define WRAPPER __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                       struct sockaddr *address, socklen_t *length);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *file);

WRAPPER _Atomic(tic_syscalls_hook) tic_syscalls_told;

/* Written by whoever is first, always the same. */
static struct {
#define FUNCTION(name) __typeof__(&(name)) name;
#include "syscalls/functions.def"
#undef FUNCTION
} real;

/* What is not there is not called. */
__attribute__((constructor)) static void resolve(void)
{
#define FUNCTION(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name);
#include "syscalls/functions.def"
#undef FUNCTION
}

/* Constructors of other libraries may come first. Memory as a number: the compiler cannot take it
 * for read. */
static void tell(uintptr_t memory, size_t size, bool is_written, void *caller)
{
    tic_syscalls_hook hook = atomic_load_explicit(&tic_syscalls_told, memory_order_acquire);

    if (!real.write)
        resolve();
    if (hook && size > 0)
        hook((const void *)memory, size, is_written, caller);
}

static void tell_parts(const struct iovec *parts, int count, bool is_written, void *caller)
{
    tell(0, 0, is_written, caller);
    for (int i = 0; i < count; i++)
        tell((uintptr_t)parts[i].iov_base, parts[i].iov_len, is_written, caller);
}

static void tell_items(uintptr_t memory, size_t size, size_t count, bool is_written, void *caller)
{
    size_t bytes;

    if (__builtin_mul_overflow(size, count, &bytes))
        bytes = SIZE_MAX;
    tell(memory, bytes, is_written, caller);
}

/* ---- the kernel writes the memory ----------------------------------------------------------- */

WRAPPER ssize_t read(int fd, void *to, size_t size)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.read(fd, to, size);
}

WRAPPER ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.pread(fd, to, size, at);
}

WRAPPER ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.pread64(fd, to, size, at);
}

WRAPPER ssize_t readv(int fd, const struct iovec *parts, int count)
{
    tell_parts(parts, count, true, CALLER);
    return real.readv(fd, parts, count);
}

WRAPPER ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
    tell_parts(parts, count, true, CALLER);
    return real.preadv(fd, parts, count, at);
}

WRAPPER ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t at)
{
    tell_parts(parts, count, true, CALLER);
    return real.preadv64(fd, parts, count, at);
}

WRAPPER ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
    tell_parts(parts, count, true, CALLER);
    return real.preadv2(fd, parts, count, at, flags);
}

WRAPPER ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
    tell_parts(parts, count, true, CALLER);
    return real.preadv64v2(fd, parts, count, at, flags);
}

WRAPPER ssize_t recv(int fd, void *to, size_t size, int flags)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.recv(fd, to, size, flags);
}

WRAPPER ssize_t recvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *address,
                         socklen_t *length)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.recvfrom(fd, to, size, flags, address, length);
}

WRAPPER ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    tell_parts(message->msg_iov, (int)message->msg_iovlen, true, CALLER);
    return real.recvmsg(fd, message, flags);
}

WRAPPER ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.getrandom(to, size, flags);
}

WRAPPER size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)to, size, count, true, CALLER);
    return real.fread(to, size, count, file);
}

WRAPPER size_t fread_unlocked(void *to, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)to, size, count, true, CALLER);
    return real.fread_unlocked(to, size, count, file);
}

/* ---- the same, compiled with _FORTIFY_SOURCE ------------------------------------------------ */

WRAPPER ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.__read_chk(fd, to, size, room);
}

WRAPPER ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.__pread_chk(fd, to, size, at, room);
}

WRAPPER ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t at, size_t room)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.__pread64_chk(fd, to, size, at, room);
}

WRAPPER ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.__recv_chk(fd, to, size, room, flags);
}

WRAPPER ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                               struct sockaddr *address, socklen_t *length)
{
    tell((uintptr_t)to, size, true, CALLER);
    return real.__recvfrom_chk(fd, to, size, room, flags, address, length);
}

WRAPPER size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)to, size, count, true, CALLER);
    return real.__fread_chk(to, room, size, count, file);
}

WRAPPER size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)to, size, count, true, CALLER);
    return real.__fread_unlocked_chk(to, room, size, count, file);
}

/* ---- the kernel reads the memory ------------------------------------------------------------ */

WRAPPER ssize_t write(int fd, const void *from, size_t size)
{
    tell((uintptr_t)from, size, false, CALLER);
    return real.write(fd, from, size);
}

WRAPPER ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    tell((uintptr_t)from, size, false, CALLER);
    return real.pwrite(fd, from, size, at);
}

WRAPPER ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    tell((uintptr_t)from, size, false, CALLER);
    return real.pwrite64(fd, from, size, at);
}

WRAPPER ssize_t writev(int fd, const struct iovec *parts, int count)
{
    tell_parts(parts, count, false, CALLER);
    return real.writev(fd, parts, count);
}

WRAPPER ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    tell_parts(parts, count, false, CALLER);
    return real.pwritev(fd, parts, count, at);
}

WRAPPER ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    tell_parts(parts, count, false, CALLER);
    return real.pwritev64(fd, parts, count, at);
}

WRAPPER ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
    tell_parts(parts, count, false, CALLER);
    return real.pwritev2(fd, parts, count, at, flags);
}

WRAPPER ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
    tell_parts(parts, count, false, CALLER);
    return real.pwritev64v2(fd, parts, count, at, flags);
}

WRAPPER ssize_t send(int fd, const void *from, size_t size, int flags)
{
    tell((uintptr_t)from, size, false, CALLER);
    return real.send(fd, from, size, flags);
}

WRAPPER ssize_t sendto(int fd, const void *from, size_t size, int flags,
                       const struct sockaddr *address, socklen_t length)
{
    tell((uintptr_t)from, size, false, CALLER);
    return real.sendto(fd, from, size, flags, address, length);
}

WRAPPER ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    tell_parts(message->msg_iov, (int)message->msg_iovlen, false, CALLER);
    return real.sendmsg(fd, message, flags);
}

WRAPPER size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)from, size, count, false, CALLER);
    return real.fwrite(from, size, count, file);
}

WRAPPER size_t fwrite_unlocked(const void *from, size_t size, size_t count, FILE *file)
{
    tell_items((uintptr_t)from, size, count, false, CALLER);
    return real.fwrite_unlocked(from, size, count, file);
}
