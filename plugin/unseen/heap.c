/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/heap.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool tic_heap_read(const char *at, char *bytes, size_t size)
{
    struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)at, size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Each has its place here by its address, and loses it to a later one that has the same: what is
 * not known is not looked at. No two places are nearer than malloc() puts blocks. */
enum { BLOCKS = 1 << 20, APART = 32, WINDOW = BLOCKS * APART };

#define POOL ((size_t)1 << 63) /* other blocks may lie in it */

static struct block {
    _Atomic(const char *) at; /* NULL: none */
    _Atomic size_t bytes;     /* or POOL */
} blocks[BLOCKS];             /* main() writes, whoever frees a block takes it out */

/* Of places that share a page: has any of them had a block? Most blocks that are given back were
 * StarPU's, and a look at each of their places would bring all of these pages in. */
enum { AREA = 256 };

static _Atomic bool has_had[BLOCKS / AREA];

static struct block *place_of(const char *at)
{
    uintptr_t place = (uintptr_t)at;

    return &blocks[(place / APART ^ place / WINDOW * 40503) % BLOCKS];
}

/* Blocks of malloc(), which never lie within others, are found from any address in them; what
 * mmap() gave may be the pool of another allocator, and is found from its first bytes. Sizes from
 * REACH on fall into classes, each of four times the one before. The bytes of a class are divided
 * into granules of its least size: one block of the class at most begins in a granule, and one
 * comes into it. These are hints: the places above tell whether the block is there. */
enum { REACH = 4096, CLASSES = 18, GRANULES = 1 << 14 };

static _Atomic(const char *) hints[CLASSES][2][GRANULES]; /* main() writes */

static _Atomic(const char *) *hint_of(unsigned class, bool begins, uintptr_t granule)
{
    return &hints[class][begins][granule % GRANULES];
}

static void hint(const char *at, size_t bytes)
{
    const uintptr_t first = (uintptr_t)at, last = first + bytes - 1;
    uintptr_t size = REACH;
    unsigned class = 0;

    for (; size <= bytes / 4 && class < CLASSES - 1; class ++)
        size *= 4;
    for (uintptr_t granule = first / size; granule <= last / size; granule++)
        atomic_store_explicit(hint_of(class, granule == first / size, granule), at,
                              memory_order_relaxed);
}

void tic_heap_note(const char *at, size_t bytes, bool is_whole)
{
    struct block *block = place_of(at);

    atomic_store_explicit(&has_had[(block - blocks) / AREA], true, memory_order_relaxed);
    atomic_store_explicit(&block->at, NULL, memory_order_relaxed);
    atomic_store_explicit(&block->bytes, is_whole ? bytes : bytes | POOL, memory_order_release);
    atomic_store_explicit(&block->at, at, memory_order_release);
    if (is_whole && bytes >= REACH)
        hint(at, bytes);
}

void tic_heap_forget(const char *at)
{
    struct block *block = place_of(at);

    if (at && atomic_load_explicit(&has_had[(block - blocks) / AREA], memory_order_relaxed) &&
        atomic_load_explicit(&block->at, memory_order_relaxed) == at)
        atomic_store_explicit(&block->at, NULL, memory_order_relaxed);
}

/* Or POOL. */
static size_t bytes_of(const char *at)
{
    struct block *block = place_of(at);

    if (!at || atomic_load_explicit(&block->at, memory_order_acquire) != at)
        return 0;
    size_t bytes = atomic_load_explicit(&block->bytes, memory_order_acquire);
    return atomic_load_explicit(&block->at, memory_order_relaxed) == at ? bytes : 0;
}

size_t tic_heap_block(const char *at)
{
    return bytes_of(at) & ~POOL;
}

/* That begins so many bytes before. */
static const char *find_near(const char *at, uintptr_t from, uintptr_t to, size_t *bytes)
{
    enum { ALIGNED = 16 };
    const char *last = at - (uintptr_t)at % ALIGNED;

    for (const char *block = last - from; block > last - to; block -= ALIGNED)
        if ((*bytes = tic_heap_block(block)) > (size_t)(at - block))
            return block;
    return NULL;
}

static const char *find_hinted(const char *at, size_t *bytes)
{
    uintptr_t size = REACH;

    for (unsigned class = 0; class < CLASSES; class ++, size *= 4)
        for (int begins = 0; begins < 2; begins++) {
            const char *block = atomic_load_explicit(hint_of(class, begins, (uintptr_t)at / size),
                                                     memory_order_relaxed);
            *bytes = block <= at ? bytes_of(block) : 0;
            if ((*bytes & POOL) == 0 && *bytes > (size_t)(at - block))
                return block;
        }
    return NULL;
}

/* Most data begins where a block does. */
const char *tic_heap_around(const char *at, size_t *bytes)
{
    enum { FEW = 128 };
    const char *block = find_near(at, 0, FEW, bytes);

    block = block ? block : find_hinted(at, bytes);
    block = block ? block : find_near(at, FEW, REACH + 16, bytes);
    *bytes = block ? *bytes : 0;
    return block;
}

/* ---- locks ---------------------------------------------------------------------------------- */

enum { MOST_USERS = 1024 };

/* What pthread_mutex_t begins with in the GNU C library. */
struct mutex {
    int lock;
    unsigned count;
    int owner;
    unsigned users;
};

static bool is_free(const struct mutex *mutex)
{
    return mutex->lock == 0 && mutex->owner == 0 && mutex->users == 0;
}

static bool is_held(const struct mutex *mutex)
{
    return (mutex->lock == 1 || mutex->lock == 2) && mutex->users > 0 &&
           mutex->users < MOST_USERS && mutex->owner > 0 && tgkill(getpid(), mutex->owner, 0) == 0;
}

bool tic_heap_is_mutex(const char *at, const char *copy)
{
    struct mutex now, before;

    memcpy(&before, copy, sizeof(before));
    return tic_heap_read(at, (char *)&now, sizeof(now)) && (is_free(&now) || is_held(&now)) &&
           (is_held(&before) || (is_free(&before) && is_held(&now)));
}

/* Numbers may look like one: nobody has as many locks side by side. */
void tic_heap_hide_mutexes(char *bytes, size_t size)
{
    enum { MOST_TRIES = 64 };
    struct mutex mutex;
    unsigned tries = 0;

    for (size_t at = 0; at + sizeof(mutex) <= size && tries < MOST_TRIES; at += 8) {
        memcpy(&mutex, bytes + at, sizeof(mutex));
        if ((mutex.lock != 1 && mutex.lock != 2) || mutex.owner <= 0 || mutex.users == 0 ||
            mutex.users >= MOST_USERS)
            continue;
        tries++;
        if (is_held(&mutex))
            memset(bytes + at, 0, sizeof(mutex));
    }
}
