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

/* Nothing declares those of _FORTIFY_SOURCE, and each has a prototype before its definition. */
#define FUNCTION(name, type, parameters, ...) type name parameters;
#include "syscalls/functions.def"
#undef FUNCTION

WRAPPER _Atomic(tic_syscalls_hook) tic_syscalls_told;

/* Written by whoever is first, always the same. */
static struct {
#define FUNCTION(name, ...) __typeof__(&(name)) name;
#include "syscalls/functions.def"
#undef FUNCTION
} real;

/* What is not there is not called. */
__attribute__((constructor)) static void resolve(void)
{
#define FUNCTION(name, ...) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name);
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

#define BYTES(memory, size, is_written) tell((uintptr_t)(memory), size, is_written, CALLER)
#define PARTS(parts, count, is_written) tell_parts(parts, (int)(count), is_written, CALLER)
#define ITEMS(memory, size, count, is_written)                                                     \
    tell_items((uintptr_t)(memory), size, count, is_written, CALLER)
#define FUNCTION(name, type, parameters, arguments, memory)                                        \
    WRAPPER type name parameters                                                                   \
    {                                                                                              \
        memory;                                                                                    \
        return real.name arguments;                                                                \
    }
#include "syscalls/functions.def"
