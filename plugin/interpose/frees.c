/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that give memory to main(), give it back, with registered data there, or pin it. The calls
 * do what they always do. They may come before any constructor. */
#undef _FILE_OFFSET_BITS /* mmap64() is defined here, by its own name */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/freed.h"
#include "base/next.h"
#include "interpose/pins.h"
#include "report/told.h"
#include "session/context.h"
#include "unseen/heap.h"

#define PUBLIC __attribute__((visibility("default")))

/* ---- what main() gets ----------------------------------------------------------------------- */

#define CALLER __builtin_return_address(0)

static bool is_of_program(const void *caller)
{
    return !tic_answers_are_starpu(caller) && tic_answers_are_main(caller);
}

static void *got(void *block, const void *caller)
{
    if (block && is_of_program(caller))
        tic_heap_note(block, malloc_usable_size(block), true);
    return block;
}

/* NULL, for dlsym(), which does without. */
#define GIVES(name, parameters, ...)                                                               \
    PUBLIC void *name parameters;                                                                  \
    void *name parameters                                                                          \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
        return real ? got(real(__VA_ARGS__), CALLER) : NULL;                                       \
    }

GIVES(malloc, (size_t size), size)
GIVES(calloc, (size_t count, size_t size), count, size)
GIVES(memalign, (size_t alignment, size_t size), alignment, size)
GIVES(aligned_alloc, (size_t alignment, size_t size), alignment, size)
GIVES(valloc, (size_t size), size)

PUBLIC int posix_memalign(void **block, size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size)
{
    TIC_NEXT(posix_memalign);
    int error = real ? real(block, alignment, size) : ENOMEM;
    if (error == 0)
        got(*block, CALLER);
    return error;
}

/* Not of a device, and not what it can only read. */
PUBLIC void *mmap64(void *at, size_t bytes, int rights, int flags, int file, off64_t from);
void *mmap64(void *at, size_t bytes, int rights, int flags, int file, off64_t from)
{
    TIC_NEXT(mmap64);
    struct stat64 status;

    char *block = real ? real(at, bytes, rights, flags, file, from)
                       : (void *)syscall(SYS_mmap, at, bytes, rights, flags, file, from);
    tic_heap_forget(block); /* a larger munmap() may have given an older one back */
    if (block != MAP_FAILED && (rights & PROT_WRITE) != 0 && is_of_program(CALLER) &&
        ((flags & MAP_ANONYMOUS) != 0 || (fstat64(file, &status) == 0 && S_ISREG(status.st_mode))))
        tic_heap_note(block, bytes, false);
    return block;
}
PUBLIC void *mmap(void *at, size_t bytes, int rights, int flags, int file, off_t from)
    __attribute__((alias("mmap64")));

/* ---- what is given back --------------------------------------------------------------------- */

static void tell(void)
{
    static bool told; /* main() only */

    if (told || tic_session->report)
        return;
    told = true;
    tic_log(TIC_LOG_INFO, "main() gives memory of registered data back (free): it is not saved any "
                          "more; starpu-tic explain freed");
}

/* Of a block that main() gives back, outside of our own calls and StarPU's; else 0. */
static size_t bytes_of(void *block)
{
    return block && tic_session && tic_is_owner && tic_guard == 0 ? malloc_usable_size(block) : 0;
}

static void note(const void *block, size_t bytes)
{
    if (bytes == 0)
        return;
    TIC_LINT(freed, block);
    if (tic_freed_may_concern(block, bytes) && tic_freed_note_block(block, bytes) > 0)
        tell();
}

/* Elsewhere the addresses would mean what was there. */
static void unpin(void *at, size_t bytes)
{
    if (at && bytes > 0)
        tic_pins_release(at, bytes);
}

PUBLIC void free(void *block);
void free(void *block)
{
    TIC_NEXT(free);

    if (!real)
        return; /* a text is lost */
    note(block, bytes_of(block));
    tic_heap_forget(block);
    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(block, malloc_usable_size(block));
    real(block);
}

PUBLIC void *realloc(void *block, size_t size);
void *realloc(void *block, size_t size)
{
    TIC_NEXT(realloc);
    size_t bytes = bytes_of(block);

    if (!real)
        return NULL;
    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(block, malloc_usable_size(block));
    tic_heap_forget(block);
    void *now = got(real(block, size), CALLER);
    if (now != block && (now || size == 0))
        note(block, bytes);
    return now;
}

/* What main() hands to a thread, that writes, whether main() waits or not. */
PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *arg)
{
    TIC_NEXT(pthread_create);
    size_t bytes;

    tic_heap_forget(tic_heap_around(arg, &bytes));
    return real ? real(thread, attributes, begin, arg) : EAGAIN;
}

PUBLIC int munmap(void *at, size_t bytes);
int munmap(void *at, size_t bytes)
{
    TIC_NEXT(munmap);

    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(at, bytes);
    tic_heap_forget(at);
    return real ? real(at, bytes) : (int)syscall(SYS_munmap, at, bytes);
}

PUBLIC void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...);
void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...)
{
    TIC_NEXT(mremap);
    void *to = NULL;
    va_list rest;

    va_start(rest, flags);
    if (flags & MREMAP_FIXED)
        to = va_arg(rest, void *);
    va_end(rest);
    if (__builtin_expect(tic_pins_are_any(), 0)) {
        unpin(at, bytes);
        unpin(to, wanted);
    }
    size_t known_bytes = tic_heap_block(at);
    tic_heap_forget(at);
    char *now = real ? real(at, bytes, wanted, flags, to)
                     : (void *)syscall(SYS_mremap, at, bytes, wanted, flags, to);
    if (now != MAP_FAILED && known_bytes > 0 && is_of_program(CALLER))
        tic_heap_note(now, wanted, false);
    return now;
}

PUBLIC int starpu_memory_pin(void *at, size_t bytes)
{
    unpin(at, bytes);
    return RESOLVED(starpu_memory_pin)(at, bytes);
}

/* Of NVIDIA's library and of AMD's, whose headers may be there, with types of their own. */
#define REGISTER(name)                                                                             \
    int tic_##name(void *at, size_t bytes, unsigned flags) __asm__(#name) PUBLIC;                  \
    int tic_##name(void *at, size_t bytes, unsigned flags)                                         \
    {                                                                                              \
        enum { UNKNOWN = 999 };                                                                    \
        TIC_REAL(tic_##name, tic_next_of(CALLER, (const void *)tic_##name, #name));                \
                                                                                                   \
        unpin(at, bytes);                                                                          \
        return real ? real(at, bytes, flags) : UNKNOWN;                                            \
    }

REGISTER(cudaHostRegister)
REGISTER(hipHostRegister)
