/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/freed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096, BUCKETS = 65536 };

struct entry {
    struct entry *next;
    const void *key;
    uintptr_t base;
    bool freed;
};

static struct {
    pthread_mutex_t mutex;
    _Atomic(struct entry *) buckets[BUCKETS]; /* by page; changed under the mutex */
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

/* Data of an earlier start of StarPU may have had the same key and base, and never left. */
void tic_freed_note_data(const void *key, const void *base)
{
    struct entry *entry = malloc(sizeof(*entry));
    unsigned bucket = bucket_of(base);

    tic_freed_forget_data(key, base);
    if (!entry)
        return;
    pthread_mutex_lock(&list.mutex);
    *entry = (struct entry){atomic_load(&list.buckets[bucket]), key, (uintptr_t)base, false};
    atomic_store(&list.buckets[bucket], entry);
    pthread_mutex_unlock(&list.mutex);
}

void tic_freed_forget_data(const void *key, const void *base)
{
    unsigned bucket = bucket_of(base);
    struct entry *entry, *before = NULL;

    pthread_mutex_lock(&list.mutex);
    for (entry = atomic_load(&list.buckets[bucket]); entry && !is_of(entry, key, base);
         entry = entry->next)
        before = entry;
    if (entry && before)
        before->next = entry->next;
    else if (entry)
        atomic_store(&list.buckets[bucket], entry->next);
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
    for (const struct entry *entry = atomic_load(&list.buckets[bucket_of(base)]); entry && !freed;
         entry = entry->next)
        freed = is_of(entry, key, base) && entry->freed;
    pthread_mutex_unlock(&list.mutex);
    return freed;
}
