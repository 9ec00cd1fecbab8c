/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of main() that give memory back in which registered data lies. The calls do what they
 * always do. They may come before any constructor. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/freed.h"
#include "base/next.h"
#include "session/context.h"
#include "unseen/blocks.h"

#define PUBLIC __attribute__((visibility("default")))

static _Atomic(void *) real_free, real_realloc;

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

PUBLIC void free(void *block);
void free(void *block)
{
    void *function = tic_next_function(&real_free, "free");
    void (*real)(void *);

    if (!function)
        return; /* a text is lost */
    memcpy(&real, &function, sizeof(real));
    note(block, bytes_of(block));
    real(block);
}

PUBLIC void *realloc(void *block, size_t size);
void *realloc(void *block, size_t size)
{
    void *function = tic_next_function(&real_realloc, "realloc");
    void *(*real)(void *, size_t);
    size_t bytes = bytes_of(block);

    if (!function)
        return NULL;
    memcpy(&real, &function, sizeof(real));
    void *now = real(block, size);
    if (now != block && (now || size == 0))
        note(block, bytes);
    return now;
}
