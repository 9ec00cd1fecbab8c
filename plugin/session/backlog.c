/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/backlog.h"

#include <pthread.h>

#include "base/error.h"

/* A heap: no item has a smaller key than the one at half its index. */
struct entry {
    uint64_t key;
    uint64_t serial; /* order in which they were added to the backlog */
    struct tic_postponed *postponed;
};

struct heap {
    struct entry *items;
    unsigned long count, capacity;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards all that follows */
static struct heap waiting;                               /* of those that are known; key: clock */
static struct heap unknown;                               /* of the others; key: clock */
static struct heap due;                                   /* key: rank, or after these serial */
static uint64_t serial;

_Atomic uint64_t tic_backlog_earliest = UINT64_MAX;

static bool push(struct heap *heap, struct entry entry)
{
    void *grown = tic_grow(heap->items, &heap->capacity, heap->count + 1, sizeof(entry));
    unsigned long at = heap->count;

    if (!grown)
        return false;
    heap->items = grown;
    heap->count++;
    for (; at > 0 && heap->items[(at - 1) / 2].key > entry.key; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = entry;
    return true;
}

static struct entry pop(struct heap *heap)
{
    const struct entry first = heap->items[0], last = heap->items[--heap->count];
    unsigned long at = 0, child;

    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count && heap->items[child + 1].key < heap->items[child].key)
            child++;
        if (heap->items[child].key >= last.key)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return first;
}

static void note_earliest_locked(void)
{
    uint64_t earliest = UINT64_MAX;

    if (waiting.count > 0)
        earliest = waiting.items[0].key;
    if (unknown.count > 0 && unknown.items[0].key < earliest)
        earliest = unknown.items[0].key;
    atomic_store(&tic_backlog_earliest, due.count > 0 ? 0 : earliest);
}

bool tic_backlog_add(struct tic_postponed *postponed)
{
    pthread_mutex_lock(&mutex);
    struct entry entry = {postponed->clock, serial++, postponed};
    bool fine = push(postponed->known ? &waiting : &unknown, entry);
    note_earliest_locked();
    pthread_mutex_unlock(&mutex);
    return fine;
}

/* Those that had run come as they did: one may have waited for another. */
static uint64_t order_of(const struct entry *entry)
{
    uint64_t rank = entry->postponed->rank;

    return rank != UINT64_MAX ? rank : UINT64_C(1) << 63 | entry->serial;
}

static void move_due_locked(struct heap *heap, uint64_t now)
{
    while (heap->count > 0 && heap->items[0].key <= now) {
        struct entry entry = pop(heap);
        entry.key = order_of(&entry);
        if (!push(&due, entry))
            tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    }
}

static bool find_due_locked(uint64_t now, bool ahead)
{
    move_due_locked(&waiting, now);
    if (!ahead)
        move_due_locked(&unknown, now);
    return due.count > 0;
}

struct tic_postponed *tic_backlog_take(uint64_t now, bool ahead)
{
    pthread_mutex_lock(&mutex);
    struct tic_postponed *taken = find_due_locked(now, ahead) ? pop(&due).postponed : NULL;
    note_earliest_locked();
    pthread_mutex_unlock(&mutex);
    return taken;
}

bool tic_backlog_has_due(uint64_t now, bool ahead)
{
    pthread_mutex_lock(&mutex);
    bool any = find_due_locked(now, ahead);
    note_earliest_locked();
    pthread_mutex_unlock(&mutex);
    return any;
}
