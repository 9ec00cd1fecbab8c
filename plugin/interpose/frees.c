/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of main() that give memory back in which registered data lies. The calls do what they
 * always do. They may come before any constructor. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/freed.h"
#include "session/context.h"

#define PUBLIC __attribute__((visibility("default")))

static _Atomic(void *) real_free, real_realloc;

/* NULL: this thread is in dlsym() already, which frees the text of an earlier error. */
static void *find(_Atomic(void *) *known, const char *name)
{
    /* volatile: to the compiler dlsym() never comes back here */
    static __thread volatile bool finding __attribute__((tls_model("initial-exec")));
    void *function = atomic_load_explicit(known, memory_order_relaxed);

    if (function || finding)
        return function;
    finding = true;
    function = dlsym(RTLD_NEXT, name);
    finding = false;
    atomic_store_explicit(known, function, memory_order_relaxed);
    return function;
}

static void tell(void)
{
    static bool told; /* main() only */

    if (told || tic_session->report)
        return;
    told = true;
    tic_log(
        TIC_LOG_INFO,
        "main() gives memory back (free) in which registered data lies: it is neither saved nor "
        "restored from then on. Unregister it before (starpu_data_unregister)");
}

static bool concerns(const void *block, size_t bytes)
{
    return tic_session && tic_is_owner && tic_guard == 0 && tic_freed_may_concern(block, bytes);
}

static void note(const void *block, size_t bytes)
{
    if (tic_freed_note_block(block, bytes) > 0)
        tell();
}

PUBLIC void free(void *block);
void free(void *block)
{
    void *function = find(&real_free, "free");
    void (*real)(void *);

    if (!function)
        return; /* a text is lost */
    memcpy(&real, &function, sizeof(real));
    if (block && tic_session && tic_is_owner) {
        size_t bytes = malloc_usable_size(block);
        if (concerns(block, bytes))
            note(block, bytes);
    }
    real(block);
}

PUBLIC void *realloc(void *block, size_t size);
void *realloc(void *block, size_t size)
{
    void *function = find(&real_realloc, "realloc");
    void *(*real)(void *, size_t);
    size_t bytes = block && tic_session && tic_is_owner ? malloc_usable_size(block) : 0;

    if (!function)
        return NULL;
    memcpy(&real, &function, sizeof(real));
    void *now = real(block, size);
    if (bytes > 0 && now != block && (now || size == 0) && concerns(block, bytes))
        note(block, bytes);
    return now;
}
