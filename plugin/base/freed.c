/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/freed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096, BUCKETS = 65536 };

struct entry {
    struct entry *next, *before; /* of its page */
    struct entry *next_key;      /* of those with a key and base like it */
    const void *key;
    uintptr_t base;
    bool freed;
};

static struct {
    pthread_mutex_t mutex;
    _Atomic(struct entry *) buckets[BUCKETS]; /* by page; changed under the mutex */
    struct entry *keys[BUCKETS];              /* by key and base: many may lie in one page */
    _Atomic unsigned long freed;              /* data that is, ever */
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool is_of(const struct entry *entry, const void *key, const void *base)
{
    return entry->key == key && entry->base == (uintptr_t)base;
}

static unsigned bucket_of(const void *at)
{
    return (unsigned)((uintptr_t)at / PAGE % BUCKETS);
}

static unsigned key_bucket_of(const void *key, const void *base)
{
    uint64_t mixed = ((uintptr_t)key ^ (uintptr_t)base << 7) * UINT64_C(0x9e3779b97f4a7c15);

    return (unsigned)(mixed >> 32) % BUCKETS;
}

/* Where it is among those of its key, or where the next one goes. */
static struct entry **place_of(const void *key, const void *base)
{
    struct entry **place = &list.keys[key_bucket_of(key, base)];

    while (*place && !is_of(*place, key, base))
        place = &(*place)->next_key;
    return place;
}

static struct entry *take_out(const void *key, const void *base)
{
    struct entry **place = place_of(key, base), *entry = *place;

    if (!entry)
        return NULL;
    *place = entry->next_key;
    if (entry->next)
        entry->next->before = entry->before;
    if (entry->before)
        entry->before->next = entry->next;
    else
        atomic_store(&list.buckets[bucket_of(base)], entry->next);
    return entry;
}

static void put_in(struct entry *entry)
{
    _Atomic(struct entry *) *page = &list.buckets[bucket_of((const void *)entry->base)];

    entry->next = atomic_load(page);
    if (entry->next)
        entry->next->before = entry;
    atomic_store(page, entry);
    *place_of(entry->key, (const void *)entry->base) = entry;
}

/* Data of an earlier start of StarPU may have had the same key and base, and never left. */
void tic_freed_note_data(const void *key, const void *base)
{
    struct entry *entry = malloc(sizeof(*entry));

    pthread_mutex_lock(&list.mutex);
    struct entry *earlier = take_out(key, base);
    if (entry) {
        *entry = (struct entry){.key = key, .base = (uintptr_t)base};
        put_in(entry);
    }
    pthread_mutex_unlock(&list.mutex);
    free(earlier);
}

void tic_freed_forget_data(const void *key, const void *base)
{
    pthread_mutex_lock(&list.mutex);
    struct entry *entry = take_out(key, base);
    pthread_mutex_unlock(&list.mutex);
    free(entry);
}

bool tic_freed_may_concern(const void *block, size_t bytes)
{
    const uintptr_t end = (uintptr_t)block + bytes;

    for (uintptr_t at = (uintptr_t)block / PAGE * PAGE; at < end; at += PAGE)
        if (atomic_load_explicit(&list.buckets[at / PAGE % BUCKETS], memory_order_relaxed))
            return true;
    return false;
}

static unsigned note_in(unsigned bucket, uintptr_t begin, uintptr_t end)
{
    unsigned count = 0;

    for (struct entry *entry = atomic_load(&list.buckets[bucket]); entry; entry = entry->next) {
        if (entry->base < begin || entry->base >= end || entry->freed)
            continue;
        entry->freed = true;
        count++;
    }
    return count;
}

unsigned tic_freed_note_block(const void *block, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)block, end = begin + bytes;
    unsigned count = 0;

    pthread_mutex_lock(&list.mutex);
    for (uintptr_t at = begin / PAGE * PAGE; at < end; at += PAGE)
        count += note_in((unsigned)(at / PAGE % BUCKETS), begin, end);
    pthread_mutex_unlock(&list.mutex);
    atomic_fetch_add(&list.freed, count);
    return count;
}

bool tic_freed_has(const void *key, const void *base)
{
    bool freed = false;

    if (atomic_load_explicit(&list.freed, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&list.mutex);
    const struct entry *entry = *place_of(key, base);
    freed = entry && entry->freed;
    pthread_mutex_unlock(&list.mutex);
    return freed;
}
