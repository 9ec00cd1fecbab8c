/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that give memory back in which registered data lies, or pin it. The calls do what they
 * always do. They may come before any constructor. */
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/freed.h"
#include "base/next.h"
#include "interpose/pins.h"
#include "session/context.h"
#include "unseen/blocks.h"

#define PUBLIC __attribute__((visibility("default")))

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
    tic_blocks_note_freed(block);
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
    static _Atomic(void *) known;
    void *function = tic_next_function(&known, "free");
    void (*real)(void *);

    if (!function)
        return; /* a text is lost */
    memcpy(&real, &function, sizeof(real));
    note(block, bytes_of(block));
    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(block, malloc_usable_size(block));
    real(block);
}

PUBLIC void *realloc(void *block, size_t size);
void *realloc(void *block, size_t size)
{
    static _Atomic(void *) known;
    void *function = tic_next_function(&known, "realloc");
    void *(*real)(void *, size_t);
    size_t bytes = bytes_of(block);

    if (!function)
        return NULL;
    memcpy(&real, &function, sizeof(real));
    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(block, malloc_usable_size(block));
    void *now = real(block, size);
    if (now != block && (now || size == 0))
        note(block, bytes);
    return now;
}

PUBLIC int munmap(void *at, size_t bytes);
int munmap(void *at, size_t bytes)
{
    static _Atomic(void *) known;
    void *function = tic_next_function(&known, "munmap");
    int (*real)(void *, size_t);

    if (__builtin_expect(tic_pins_are_any(), 0))
        unpin(at, bytes);
    memcpy(&real, &function, sizeof(real));
    return real ? real(at, bytes) : (int)syscall(SYS_munmap, at, bytes);
}

PUBLIC void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...);
void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...)
{
    static _Atomic(void *) known;
    void *function = tic_next_function(&known, "mremap"), *to = NULL;
    void *(*real)(void *, size_t, size_t, int, ...);
    va_list rest;

    va_start(rest, flags);
    if (flags & MREMAP_FIXED)
        to = va_arg(rest, void *);
    va_end(rest);
    if (__builtin_expect(tic_pins_are_any(), 0)) {
        unpin(at, bytes);
        unpin(to, wanted);
    }
    memcpy(&real, &function, sizeof(real));
    return real ? real(at, bytes, wanted, flags, to)
                : (void *)syscall(SYS_mremap, at, bytes, wanted, flags, to);
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
        int (*real)(void *, size_t, unsigned);                                                     \
        void *function =                                                                           \
            tic_next_of(__builtin_return_address(0), (const void *)tic_##name, #name);             \
                                                                                                   \
        unpin(at, bytes);                                                                          \
        memcpy(&real, &function, sizeof(real));                                                    \
        return real ? real(at, bytes, flags) : UNKNOWN;                                            \
    }

REGISTER(cudaHostRegister)
REGISTER(hipHostRegister)
