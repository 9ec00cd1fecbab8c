/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/heap.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/content.h"
#include "session/symbol.h"

bool tic_heap_read(const char *at, char *bytes, size_t size)
{
    struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)at, size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

enum { PAGE = 4096, WORD = sizeof(size_t), ALIGNED = 2 * WORD };
enum { MAPPED = 2, FLAGS = 7 };            /* in the word before a block, beside its size */
enum { LEAST_USED = 32, LEAST_FREE = 16 }; /* bytes, with that word */

/* What the word says if it may be of a block; else 0. */
static size_t size_in(size_t header, size_t least, size_t most)
{
    size_t size = header & ~(size_t)FLAGS;

    return size < least || size % ALIGNED != 0 || size > most ? 0 : size;
}

/* Other allocators keep other things before their blocks. */
static bool is_of_libc(void)
{
    static _Atomic int is; /* 1: yes, -1: no */
    Dl_info libc, its;

    if (is == 0) {
        void *function = dlsym(RTLD_DEFAULT, "malloc");
        is = function && dladdr(function, &its) != 0 &&
                     dladdr((const void *)(uintptr_t)gnu_get_libc_version, &libc) != 0 &&
                     its.dli_fbase == libc.dli_fbase
                 ? 1
                 : -1;
    }
    return is == 1;
}

size_t tic_heap_block(const char *at, size_t most)
{
    const uintptr_t begin = (uintptr_t)at;
    size_t header, next;

    if (!is_of_libc() || begin % ALIGNED != 0 || !tic_symbol_is_address(begin) ||
        !tic_heap_read(at - WORD, (char *)&header, WORD))
        return 0;
    size_t size = size_in(header, LEAST_USED, most);
    if (size == 0)
        return 0;
    if ((header & MAPPED) != 0)
        return begin % PAGE == ALIGNED && size % PAGE == 0 &&
                       tic_heap_read(at + size - 3 * WORD, (char *)&next, WORD)
                   ? size - ALIGNED
                   : 0;
    if (!tic_heap_read(at + size - WORD, (char *)&next, WORD))
        return 0;
    return (next & 1) != 0 && next >= LEAST_USED ? size - WORD : 0;
}

/* Blocks follow each other up to the end of the heap, used and free ones. Numbers that look like
 * one do not go on like that. Mapped blocks stand alone. */
static bool is_followed(const char *block, size_t most)
{
    enum { FOLLOWERS = 4 };
    size_t header, size;

    for (int i = 0; i < FOLLOWERS; i++) {
        if (!tic_heap_read(block - WORD, (char *)&header, WORD))
            return false;
        if (i == 0 && (header & MAPPED) != 0)
            return true;
        size = size_in(header, LEAST_FREE, most);
        block += size;
        if (size == 0 || (uintptr_t)block % PAGE == ALIGNED)
            return size > 0;
    }
    return true;
}

/* What comes before `at`, of one call: the last page may be all that is there. */
static size_t read_before(const char *at, char *bytes, size_t most)
{
    size_t here = (uintptr_t)at % PAGE;

    if (tic_heap_read(at - most, bytes, most))
        return most;
    return here > 0 && tic_heap_read(at - here, bytes, here) ? here : 0;
}

const char *tic_heap_around(const char *at, size_t most, size_t *bytes)
{
    enum { REACH = 4096 };
    char before[REACH];
    const char *end = at - (uintptr_t)at % ALIGNED; /* where a block may begin */
    size_t read = read_before(end, before, REACH), header;

    for (size_t back = WORD; back <= read; back += ALIGNED) {
        const char *block = end - back + WORD;
        memcpy(&header, before + read - back, WORD);
        if (size_in(header, LEAST_USED, most) <= (size_t)(at - block) + WORD)
            continue;
        *bytes = tic_heap_block(block, most);
        if (*bytes > (size_t)(at - block) && is_followed(block, most))
            return block;
    }
    return NULL;
}

/* ---- all blocks ----------------------------------------------------------------------------- */

static bool find_heap(const char **begin, const char **end)
{
    FILE *file = tic_content_open("/proc/self/maps");
    unsigned long long first;
    char line[512];
    bool found = false;

    while (file && !found && fgets(line, sizeof(line), file))
        found = strstr(line, "[heap]") && sscanf(line, "%llx-", &first) == 1;
    if (file)
        fclose(file);
    *begin = found ? (const char *)(uintptr_t)first : NULL;
    *end = found ? sbrk(0) : NULL; /* the text of the file may have moved it */
    return found;
}

/* Of malloc's first arena. Another allocator or another user of sbrk() breaks the chain. */
static const char *find_block(const char *at, size_t *bytes)
{
    static unsigned long left = 1 << 20; /* to look at: numbers that look like blocks cost time */
    const char *chunk, *end, *found = NULL;
    bool used = false;
    size_t header, size;

    if (!find_heap(&chunk, &end) || at < chunk || at >= end)
        return NULL;
    for (; chunk < end && left > 0; chunk += size, left--) {
        size = tic_heap_read(chunk + WORD, (char *)&header, WORD)
                   ? size_in(header, LEAST_USED, (size_t)(end - chunk))
                   : 0;
        if (size == 0 || (found && !used && (header & 1) == 0))
            return NULL;
        used = found != NULL;
        if (!found && at < chunk + size) {
            found = chunk + ALIGNED;
            *bytes = size - WORD;
        }
    }
    return used && chunk == end ? found : NULL;
}

const char *tic_heap_sure(const char *at, size_t size, size_t *bytes)
{
    const size_t most = (size_t)1 << 46;
    size_t header;
    const char *block = at;

    *bytes = tic_heap_block(at, most);
    if (*bytes == 0)
        block = tic_heap_around(at, most, bytes);
    if (!block || block + *bytes >= at + size)
        return NULL;
    if (tic_heap_read(block - WORD, (char *)&header, WORD) && (header & MAPPED) != 0)
        return block == at ? block : NULL;
    return find_block(at, bytes);
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
