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

static struct block {
    _Atomic(const char *) at; /* NULL: none */
    _Atomic size_t bytes;
} blocks[BLOCKS]; /* main() writes, whoever frees a block takes it out */

static struct block *place_of(const char *at)
{
    uintptr_t place = (uintptr_t)at;

    return &blocks[(place / APART ^ place / WINDOW * 40503) % BLOCKS];
}

void tic_heap_note(const char *at, size_t bytes)
{
    struct block *block = place_of(at);

    atomic_store_explicit(&block->at, NULL, memory_order_relaxed);
    atomic_store_explicit(&block->bytes, bytes, memory_order_release);
    atomic_store_explicit(&block->at, at, memory_order_release);
}

void tic_heap_forget(const char *at)
{
    struct block *block = place_of(at);

    if (at && atomic_load_explicit(&block->at, memory_order_relaxed) == at)
        atomic_store_explicit(&block->at, NULL, memory_order_relaxed);
}

size_t tic_heap_block(const char *at)
{
    struct block *block = place_of(at);

    if (!at || atomic_load_explicit(&block->at, memory_order_acquire) != at)
        return 0;
    size_t bytes = atomic_load_explicit(&block->bytes, memory_order_acquire);
    return atomic_load_explicit(&block->at, memory_order_relaxed) == at ? bytes : 0;
}

const char *tic_heap_around(const char *at, size_t *bytes)
{
    enum { REACH = 4096, ALIGNED = 16 };
    const char *block = at - (uintptr_t)at % ALIGNED;

    for (*bytes = 0; *bytes == 0 && at - block <= REACH; block -= ALIGNED)
        *bytes = tic_heap_block(block);
    block += ALIGNED;
    return (size_t)(at - block) < *bytes ? block : NULL;
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
