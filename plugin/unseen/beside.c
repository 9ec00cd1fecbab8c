/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/beside.h"

#include <stdlib.h>
#include <string.h>

#include "unseen/hashes.h"
#include "unseen/heap.h"
#include "unseen/others.h"
#include "unseen/present.h"

enum {
    MOST_RANGES = 2048,
    MOST_BYTES = 8 << 20, /* of copies */
    MOST_OFTEN = 256,
    MUTEX = 16, /* bytes of one that change */
    STEP = 65536
};

static struct {
    struct tic_beside ranges[MOST_RANGES];
    unsigned count;
    char *copies, *piece; /* MOST_BYTES and STEP of them, or NULL */
    size_t used;          /* bytes of copies */
    uint64_t left_out;
    struct tic_beside often[MOST_OFTEN]; /* pages of objects that change from wait to wait */
    unsigned often_count;
} beside;

static size_t size_of(const struct tic_beside *range)
{
    return (size_t)(range->span.end - range->span.begin);
}

bool tic_beside_begin(void)
{
    beside.count = 0;
    beside.used = 0;
    beside.left_out = 0;
    tic_hashes_begin();
    if (!beside.copies)
        beside.copies = malloc(MOST_BYTES);
    if (!beside.piece)
        beside.piece = malloc(STEP);
    return beside.copies && beside.piece;
}

/* Several pointers may lead to one place. */
static bool is_watched(const struct tic_beside *range)
{
    for (unsigned i = 0; i < beside.count; i++)
        if (tic_span_has(&beside.ranges[i].span, range->span.begin) &&
            range->span.end <= beside.ranges[i].span.end)
            return true;
    return false;
}

void tic_beside_add(const struct tic_beside *range)
{
    size_t size = size_of(range);

    if (size == 0 || is_watched(range))
        return;
    if (beside.count == MOST_RANGES) {
        beside.left_out += size;
        return;
    }
    struct tic_beside *added = &beside.ranges[beside.count];
    *added = *range;
    added->copy = NULL;
    if (range->kind != TIC_BESIDE_OF_DATA && size <= MOST_BYTES - beside.used) {
        added->copy = beside.copies + beside.used;
        if (!tic_heap_read(range->span.begin, beside.copies + beside.used, size))
            return;
        beside.used += size;
    }
    beside.count++;
}

/* A short task may write it before it is hashed: next time it is copied first. Objects stay where
 * they are. */
static void note_often(const struct tic_span *page, void *arg)
{
    const struct tic_beside *range = arg;
    struct tic_beside *added = &beside.often[beside.often_count];

    for (unsigned i = 0; i < beside.often_count; i++)
        if (beside.often[i].span.begin == page->begin)
            return;
    if (beside.often_count == MOST_OFTEN)
        return;
    *added = *range;
    added->span = *page;
    added->edge = MUTEX;
    beside.often_count++;
}

void tic_beside_add_often(void)
{
    for (unsigned i = 0; i < beside.often_count; i++)
        tic_beside_add(&beside.often[i]);
}

void tic_beside_hash(const struct tic_others *all)
{
    unsigned kept = 0;

    tic_present_begin();
    for (unsigned i = 0; i < beside.count; i++) {
        struct tic_beside range = beside.ranges[i];
        long number =
            range.copy
                ? 0
                : tic_hashes_take(&range.span, range.zeros, all,
                                  range.kind == TIC_BESIDE_OBJECT ? note_often : NULL, &range);
        if (number < 0) {
            beside.left_out += size_of(&range);
            continue;
        }
        range.number = (unsigned long)number;
        beside.ranges[kept++] = range;
    }
    beside.count = kept;
    tic_present_end();
}

uint64_t tic_beside_left_out(void)
{
    return beside.left_out + tic_hashes_left_out();
}

/* ---- what has changed ----------------------------------------------------------------------- */

/* The owner changes, and how many wait. */
static bool is_in_mutex(const struct tic_beside *range, size_t at)
{
    const size_t size = size_of(range), word = at - at % 8;
    bool is = false;

    for (size_t back = 0; back <= 8 && back <= word && !is; back += 8)
        is = word - back + MUTEX <= size &&
             tic_heap_is_mutex(range->span.begin + word - back, range->copy + word - back);
    return is;
}

/* Of others, in pieces of TIC_OTHERS_GRAIN bytes. */
struct others {
    const char *begin;
    unsigned char *grains;
};

static void mark_run(const struct tic_span *run, void *arg)
{
    const struct others *others = arg;
    size_t first = (size_t)(run->begin - others->begin) / TIC_OTHERS_GRAIN;
    size_t last = (size_t)(run->end - 1 - others->begin) / TIC_OTHERS_GRAIN;

    memset(others->grains + first, 1, last - first + 1);
}

/* The first byte that differs from its copy and does not belong to others, or NULL. */
static const char *find_change(const struct tic_beside *range, const struct tic_others *all)
{
    size_t size = size_of(range);
    struct others others = {.begin = range->span.begin};
    const char *change = NULL;

    for (size_t at = 0; at < size && !change; at += STEP) {
        size_t step = size - at < STEP ? size - at : STEP;
        if (!tic_heap_read(range->span.begin + at, beside.piece, step))
            break; /* it was given back */
        if (memcmp(beside.piece, range->copy + at, step) == 0)
            continue;
        if (!others.grains) {
            others.grains = calloc(size / TIC_OTHERS_GRAIN + 1, 1);
            if (!others.grains)
                break;
            tic_others_visit(all, &range->span, mark_run, &others);
        }
        for (size_t i = 0; i < step && !change; i++) {
            unsigned char *grain = &others.grains[(at + i) / TIC_OTHERS_GRAIN];
            if (beside.piece[i] == range->copy[at + i] || *grain || at + i < range->edge ||
                at + i + range->edge >= size)
                continue;
            if (is_in_mutex(range, at + i))
                *grain = 1;
            else
                change = range->span.begin + at + i;
        }
    }
    free(others.grains);
    return change;
}

const struct tic_beside *tic_beside_changed(const struct tic_others *all, unsigned *next,
                                            const char **at)
{
    const char *change = NULL;

    tic_present_begin();
    while (*next < beside.count && !change) {
        const struct tic_beside *range = &beside.ranges[(*next)++];
        change = range->copy ? find_change(range, all)
                             : tic_hashes_changed(&range->span, range->zeros, range->number, all);
    }
    tic_present_end();
    *at = change;
    return change ? &beside.ranges[*next - 1] : NULL;
}
