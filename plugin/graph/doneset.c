/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The set of done tasks of one submission context: a dense prefix and a bitmap window above it. */
#include "graph/doneset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void tic_doneset_init(struct tic_doneset *set)
{
    memset(set, 0, sizeof(*set));
}

void tic_doneset_fini(struct tic_doneset *set)
{
    free(set->words);
    tic_doneset_init(set);
}

/* Drops full words at the front; moves the rest down when half of the array is dead. */
static void advance_base(struct tic_doneset *set)
{
    while (set->used > 0 && set->words[set->first] == UINT64_MAX) {
        set->first++;
        set->used--;
        set->base += 64;
    }
    if (set->first > set->capacity / 2) {
        memmove(set->words, set->words + set->first, set->used * sizeof(*set->words));
        set->first = 0;
    }
}

static int reserve_word(struct tic_doneset *set, uint64_t word)
{
    if (word < set->used)
        return 0;
    size_t needed = set->first + (size_t)word + 1;
    if (needed > set->capacity) {
        size_t capacity = needed * 2;
        uint64_t *grown = realloc(set->words, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        set->words = grown;
        set->capacity = capacity;
    }
    memset(set->words + set->first + set->used, 0,
           ((size_t)word + 1 - set->used) * sizeof(*set->words));
    set->used = (size_t)word + 1;
    return 0;
}

int tic_doneset_add(struct tic_doneset *set, uint64_t sequence)
{
    if (tic_doneset_contains(set, sequence))
        return -EEXIST;
    uint64_t word = (sequence - set->base) / 64;
    int status = reserve_word(set, word);
    if (status)
        return status;
    set->words[set->first + word] |= UINT64_C(1) << (sequence % 64);
    set->count++;
    if (word == 0)
        advance_base(set);
    return 0;
}

int tic_doneset_add_range(struct tic_doneset *set, struct tic_range range)
{
    int status = 0;
    if (set->count == 0 && range.first == 0 && range.last < UINT64_MAX) {
        set->base = (range.last + 1) / 64 * 64; /* the common prefix, at once */
        set->count = set->base;
        range.first = set->base;
        if (range.first > range.last)
            return 0;
    }
    for (uint64_t sequence = range.first; status == 0 && sequence <= range.last; sequence++)
        status = tic_doneset_add(set, sequence);
    return status;
}

bool tic_doneset_contains(const struct tic_doneset *set, uint64_t sequence)
{
    if (sequence < set->base)
        return true;
    uint64_t word = (sequence - set->base) / 64;
    return word < set->used && (set->words[set->first + word] >> (sequence % 64) & 1);
}

uint64_t tic_doneset_end(const struct tic_doneset *set)
{
    for (size_t word = set->used; word-- > 0;) {
        uint64_t bits = set->words[set->first + word];
        if (bits)
            return set->base + word * 64 + 64 - (uint64_t)__builtin_clzll(bits);
    }
    return set->base;
}

int tic_doneset_ranges(const struct tic_doneset *set, struct tic_range **ranges, size_t *count)
{
    struct tic_range *found = NULL;
    unsigned long capacity = 0;
    size_t used = 0;
    uint64_t end = tic_doneset_end(set);

    for (uint64_t at = 0; at < end;) {
        if (!tic_doneset_contains(set, at)) {
            at++;
            continue;
        }
        struct tic_range range = {.first = at};
        at = at < set->base ? set->base : at;
        while (at < end && tic_doneset_contains(set, at))
            at++;
        range.last = at - 1;
        if (tic_append(found, used, capacity, &range) != 0) {
            free(found);
            return -ENOMEM;
        }
    }
    *ranges = found;
    *count = used;
    return 0;
}
