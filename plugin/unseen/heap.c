/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/heap.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session/symbol.h"

bool tic_heap_read(const char *at, char *bytes, size_t size)
{
    struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)at, size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

size_t tic_heap_block(const char *at, size_t most)
{
    enum { MAPPED = 2, FLAGS = 7, LEAST = 32, PAGE = 4096 };
    const uintptr_t begin = (uintptr_t)at;
    const size_t word = sizeof(size_t);
    size_t size, next;

    if (begin % (2 * word) != 0 || !tic_symbol_is_address(begin) ||
        !tic_heap_read(at - word, (char *)&size, word))
        return 0;
    bool mapped = (size & MAPPED) != 0;
    size &= ~(size_t)FLAGS;
    if (size < LEAST || size % (2 * word) != 0 || size > most)
        return 0;
    if (mapped)
        return begin % PAGE == 2 * word && size % PAGE == 0 &&
                       tic_heap_read(at + size - 3 * word, (char *)&next, word)
                   ? size - 2 * word
                   : 0;
    if (!tic_heap_read(at + size - word, (char *)&next, word))
        return 0;
    return (next & 1) != 0 && next >= LEAST ? size - word : 0;
}

/* Blocks follow each other up to the end of the heap, used and free ones. Numbers that look like
 * one do not go on like that. Mapped blocks stand alone. */
static bool is_followed(const char *block, size_t most)
{
    enum { FOLLOWERS = 4, MAPPED = 2, FLAGS = 7, LEAST = 16, PAGE = 4096 };
    const size_t word = sizeof(size_t);
    size_t size;

    for (int i = 0; i < FOLLOWERS; i++) {
        if (!tic_heap_read(block - word, (char *)&size, word))
            return false;
        if (i == 0 && (size & MAPPED) != 0)
            return true;
        size &= ~(size_t)FLAGS;
        if (size < LEAST || size % (2 * word) != 0 || size > most)
            return false;
        block += size;
        if ((uintptr_t)block % PAGE == 2 * word)
            return true;
    }
    return true;
}

/* What comes before `at`, of one call: the last page may be all that is there. */
static size_t read_before(const char *at, char *bytes, size_t most)
{
    const uintptr_t page = 4096;
    size_t here = (uintptr_t)at % page;

    if (tic_heap_read(at - most, bytes, most))
        return most;
    return here > 0 && tic_heap_read(at - here, bytes, here) ? here : 0;
}

const char *tic_heap_around(const char *at, size_t most, size_t *bytes)
{
    enum { REACH = 4096, FLAGS = 7, LEAST = 32 };
    const uintptr_t word = sizeof(size_t), aligned = 2 * word;
    char before[REACH];
    const char *end = at - (uintptr_t)at % aligned; /* where a block may begin */
    size_t read = read_before(end, before, REACH), size;

    for (size_t back = word; back <= read; back += aligned) {
        const char *block = end - back + word;
        memcpy(&size, before + read - back, word);
        size &= ~(size_t)FLAGS;
        if (size < LEAST || size % aligned != 0 || size > most ||
            size - word <= (size_t)(at - block))
            continue;
        *bytes = tic_heap_block(block, most);
        if (*bytes > (size_t)(at - block) && is_followed(block, most))
            return block;
    }
    return NULL;
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
