/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/hashes.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "unseen/heap.h"
#include "unseen/others.h"
#include "unseen/present.h"

enum {
    PAGE = TIC_HASHES_PAGE,
    STEP = 16 * PAGE,
    MARGIN = 16,        /* a mutex may lie across two steps */
    MOST_MIXED = 65536, /* pages that belong to others in part */
    MOST_BYTES = 256 << 20
};

enum belongs { NOT = 0, ALL = UINT32_MAX }; /* to others; else where its marks are, plus 1 */

static struct {
    uint64_t *hashes;
    uint32_t *belongs;
    const char **places; /* of the pages that they were taken from */
    unsigned long hash_capacity, belong_capacity, place_capacity, count;
    bool is_zero; /* the step that was read */
    struct tic_others_page *mixed;
    unsigned long mixed_capacity;
    uint32_t mixed_count, unused; /* plus 1; those that belong to others altogether by now */
    uint64_t bytes, left_out;
    char piece[MARGIN + STEP + MARGIN];
} pages;

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t size_of(const struct tic_span *span)
{
    return (size_t)(span->end - span->begin);
}

void tic_hashes_begin(void)
{
    pages.count = 0;
    pages.mixed_count = pages.unused = 0;
    pages.bytes = pages.left_out = 0;
}

/* ---- pages of others ------------------------------------------------------------------------ */

/* NULL: no more of them. */
static struct tic_others_page *mixed_page(uint32_t *belongs)
{
    if (*belongs != NOT)
        return &pages.mixed[*belongs - 1];
    if (pages.unused > 0) {
        *belongs = pages.unused;
        memcpy(&pages.unused, &pages.mixed[*belongs - 1], sizeof(pages.unused));
    } else {
        if (pages.mixed_count >= MOST_MIXED ||
            tic_reserve(pages.mixed, pages.mixed_capacity, pages.mixed_count + 1) != 0)
            return NULL;
        *belongs = ++pages.mixed_count;
    }
    pages.mixed[*belongs - 1] = (struct tic_others_page){{0}};
    return &pages.mixed[*belongs - 1];
}

static void give_to_others(uint32_t *belongs)
{
    if (*belongs != NOT && *belongs != ALL) {
        memcpy(&pages.mixed[*belongs - 1], &pages.unused, sizeof(pages.unused));
        pages.unused = *belongs;
    }
    *belongs = ALL;
}

struct marking {
    const struct tic_span *span;
    unsigned long number;
};

static void mark_run(const struct tic_span *run, void *arg)
{
    const struct marking *marking = arg;
    size_t begin = (size_t)(run->begin - marking->span->begin);
    size_t end = (size_t)(run->end - marking->span->begin), size = size_of(marking->span);

    for (size_t at = begin - begin % PAGE; at < end; at += PAGE) {
        uint32_t *belongs = &pages.belongs[marking->number + at / PAGE];
        size_t first = begin > at ? begin - at : 0, after = min(end - at, PAGE);
        struct tic_others_page *mixed = NULL;
        if (*belongs == ALL)
            continue;
        if (first > 0 || after < min(size - at, PAGE)) {
            mixed = mixed_page(belongs);
            pages.left_out += mixed ? 0 : PAGE;
        }
        if (mixed)
            tic_others_mark(mixed, first, after);
        if (!mixed || tic_others_has_all(mixed))
            give_to_others(belongs);
    }
}

/* ---- hashes --------------------------------------------------------------------------------- */

/* What is hashed: zeros as in tic_hashes_take(). */
struct area {
    const struct tic_span *span;
    const char *zeros;
    unsigned long number;
    void (*news)(const struct tic_span *page, void *arg);
    void *arg;
};

/* False if it is not all there. The bytes are at pages.piece + MARGIN. */
static bool read_step(const struct area *area, size_t at, size_t step)
{
    const struct tic_span *span = area->span;
    const char *begin = span->begin + at;

    pages.is_zero = area->zeros && begin >= area->zeros && !tic_present_has(begin, step);
    if (pages.is_zero) {
        memset(pages.piece + MARGIN, 0, step);
        return true;
    }
    size_t before = min(at, MARGIN), after = min(size_of(span) - at - step, MARGIN);
    char *bytes = pages.piece + MARGIN - before;

    if (!tic_heap_read(span->begin + at - before, bytes, before + step + after))
        return false;
    tic_heap_hide_mutexes(bytes, before + step + after);
    return true;
}

/* Of a page of the step. */
static uint64_t hash_page(size_t in_step, size_t size, uint32_t belongs)
{
    char *bytes = pages.piece + MARGIN + in_step;

    static uint64_t of_zeros; /* of a whole page */

    if (pages.is_zero && size == PAGE) {
        of_zeros = of_zeros ? of_zeros : XXH3_64bits(bytes, size);
        return of_zeros;
    }
    if (belongs != NOT)
        tic_others_hide(&pages.mixed[belongs - 1], bytes, size);
    return XXH3_64bits(bytes, size);
}

static bool belong_to_others(unsigned long number, size_t step)
{
    for (size_t at = 0; at < step; at += PAGE)
        if (pages.belongs[number + at / PAGE] != ALL)
            return false;
    return true;
}

/* The hash of before, if it is of the same place, is another one. */
static void note_hash(const struct area *area, size_t at, size_t size, uint64_t hash)
{
    unsigned long number = area->number + at / PAGE;
    struct tic_span page = {area->span->begin + at, area->span->begin + at + size};

    if (area->news && pages.places[number] == page.begin && pages.hashes[number] != hash)
        area->news(&page, area->arg);
    pages.places[number] = page.begin;
    pages.hashes[number] = hash;
}

static void hash_step(const struct area *area, size_t at, size_t step)
{
    bool has_room = pages.bytes + step <= MOST_BYTES;
    bool is_read = has_room && read_step(area, at, step);

    for (size_t in_step = 0; in_step < step; in_step += PAGE) {
        uint32_t *belongs = &pages.belongs[area->number + (at + in_step) / PAGE];
        size_t size = min(step - in_step, PAGE);
        if (*belongs == ALL)
            continue;
        if (!is_read) {
            pages.left_out += has_room ? 0 : size;
            give_to_others(belongs);
            continue;
        }
        note_hash(area, at + in_step, size, hash_page(in_step, size, *belongs));
        pages.bytes += pages.is_zero ? 0 : size;
    }
}

static int make_room(unsigned long count)
{
    unsigned long before = pages.place_capacity;
    int status = tic_reserve(pages.hashes, pages.hash_capacity, count);

    status = status ? status : tic_reserve(pages.belongs, pages.belong_capacity, count);
    status = status ? status : tic_reserve(pages.places, pages.place_capacity, count);
    if (pages.place_capacity > before)
        memset(pages.places + before, 0, (pages.place_capacity - before) * sizeof(*pages.places));
    return status;
}

long tic_hashes_take(const struct tic_span *span, const char *zeros, const struct tic_others *all,
                     void (*news)(const struct tic_span *page, void *arg), void *arg)
{
    struct area area = {span, zeros, pages.count, news, arg};
    struct marking marking = {span, pages.count};
    size_t size = size_of(span);
    unsigned long count = (size + PAGE - 1) / PAGE;

    if (make_room(pages.count + count) != 0)
        return -1;
    memset(pages.belongs + pages.count, 0, count * sizeof(*pages.belongs));
    pages.count += count;
    tic_others_visit(all, span, mark_run, &marking);
    for (size_t at = 0; at < size; at += STEP) {
        size_t step = min(size - at, STEP);
        if (!belong_to_others(area.number + at / PAGE, step))
            hash_step(&area, at, step);
    }
    return (long)area.number;
}

/* Is there nothing new that belongs to others, and does a second look see the same? A mutex may
 * just have been in the hands of somebody. */
static bool is_change(const struct area *area, size_t at, const struct tic_others *all)
{
    static const struct tic_others_page none;
    const struct tic_span *span = area->span;
    unsigned long number = area->number + at / PAGE;
    uint32_t belongs = pages.belongs[number];
    size_t size = min(size_of(span) - at, PAGE);
    struct tic_others_page now = tic_others_page(all, span->begin + at, size);

    if (!tic_others_covers(belongs == NOT ? &none : &pages.mixed[belongs - 1], &now)) {
        give_to_others(&pages.belongs[number]);
        return false;
    }
    return read_step(area, at, size) && hash_page(0, size, belongs) != pages.hashes[number];
}

const char *tic_hashes_changed(const struct tic_span *span, const char *zeros, unsigned long number,
                               const struct tic_others *all)
{
    const struct area area = {.span = span, .zeros = zeros, .number = number};
    size_t size = size_of(span);

    for (size_t at = 0; at < size; at += STEP) {
        size_t step = min(size - at, STEP), in_step;
        unsigned long first = number + at / PAGE;
        if (belong_to_others(first, step))
            continue;
        if (!read_step(&area, at, step))
            return NULL; /* it was given back */
        for (in_step = 0; in_step < step; in_step += PAGE) {
            unsigned long page = first + in_step / PAGE;
            if (pages.belongs[page] == ALL || hash_page(in_step, min(step - in_step, PAGE),
                                                        pages.belongs[page]) == pages.hashes[page])
                continue;
            if (is_change(&area, at + in_step, all))
                return span->begin + at + in_step;
            if (!read_step(&area, at, step))
                return NULL;
        }
    }
    return NULL;
}

uint64_t tic_hashes_left_out(void)
{
    return pages.left_out;
}
