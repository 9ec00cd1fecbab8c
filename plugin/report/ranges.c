/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ranges of whole pages that may be closed. */
#include "report/ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/content.h"
#include "report/advice.h"
#include "report/watched.h"
#include "session/uses.h"

enum { OPEN = PROT_READ | PROT_WRITE };

bool tic_page_ranges_create(struct tic_page_ranges *ranges)
{
    *ranges =
        (struct tic_page_ranges){.items = calloc(TIC_PAGE_RANGES_MAX, sizeof(*ranges->items))};
    return ranges->items != NULL;
}

static void add(struct tic_page_ranges *ranges, uintptr_t begin, uintptr_t end)
{
    if (begin < end && ranges->count < TIC_PAGE_RANGES_MAX)
        ranges->items[ranges->count++] = (struct tic_page_range){(char *)begin, (char *)end, OPEN};
}

/* ---- data ----------------------------------------------------------------------------------- */

/* Data that no task has written is what main() made it, and will make it again. */
static bool has_task_values(const struct tic_handle *handle)
{
    bool has = tic_data_holds_values(handle);

    for (unsigned i = 0; i < handle->child_count && !has; i++)
        has = has_task_values(handle->children[i]);
    return has;
}

/* The data that main() holds may be a part of this one, or share its memory. */
static bool is_free(const struct tic_handle *handle, bool held)
{
    return handle->data && !(held && (atomic_load(&handle->use.holds) > 0 || handle->family ||
                                      handle->child_count > 0));
}

bool tic_page_ranges_watches(const struct tic_handle *handle, bool held)
{
    return tic_shape_bytes(&handle->layout.shape) > TIC_ADVICE_SMALL && is_free(handle, held) &&
           has_task_values(handle);
}

bool tic_page_ranges_has(const struct tic_handle *handle, const char *address)
{
    const struct tic_layout *layout = &handle->layout;
    uint64_t offset;

    if (address < layout->base || address >= layout->base + tic_layout_span(layout))
        return false;
    offset = (uint64_t)(address - layout->base) / layout->shape.element_size;
    for (unsigned dim = layout->shape.ndim; dim-- > 0;) {
        uint64_t stride = layout->stride[dim] > 0 ? layout->stride[dim] : 1;
        if (offset / stride >= layout->shape.dims[dim])
            return false;
        offset %= stride;
    }
    return true;
}

static bool is_contiguous(const struct tic_layout *layout)
{
    return tic_layout_span(layout) == tic_shape_bytes(&layout->shape);
}

/* ---- pages of one piece of data ------------------------------------------------------------- */

struct search {
    struct tic_page_ranges *ranges;
    uintptr_t page;
    bool held;
    struct area { /* data that lies side by side, or in turns */
        uintptr_t begin, end;
        uint64_t bytes; /* of all data in it */
        unsigned count;
        bool is_free; /* all of it may be closed */
    } area;
    struct area *full; /* those without gaps; AREAS of them */
    size_t full_count;
};

enum { AREAS = 1024 };

/* glibc gives large pieces mappings of their own, where its own words come first. Is this all of
 * one? Then nobody else has the pages at both ends. The words are readable: they precede the data
 * in its page. */
static bool is_own_mapping(const char *run, uint64_t bytes, uintptr_t page, size_t *size)
{
    enum { HEAD = 16, IS_MAPPED = 2, FLAGS = 7 };

    if ((uintptr_t)run % page != HEAD || bytes < page)
        return false;
    size_t word = ((const size_t *)run)[-1];
    *size = word & ~(size_t)FLAGS;
    return word & IS_MAPPED && *size % page == 0 && *size >= bytes + HEAD &&
           *size - bytes - HEAD < page;
}

/* The whole pages of a piece of memory. */
static void round_to_pages(uintptr_t page, uintptr_t *begin, uintptr_t *end)
{
    size_t size;

    if (is_own_mapping((const char *)*begin, *end - *begin, page, &size)) {
        *begin = *begin / page * page;
        *end = *begin + size;
    } else {
        *begin = (*begin + page - 1) / page * page;
        *end = *end / page * page;
    }
}

static int add_run(char *run, uint64_t bytes, void *arg)
{
    struct search *search = arg;
    uintptr_t begin = (uintptr_t)run, end = begin + bytes;

    if (bytes < search->page || search->ranges->count == TIC_PAGE_RANGES_MAX)
        return 1;
    round_to_pages(search->page, &begin, &end);
    add(search->ranges, begin, end);
    return 0;
}

static int add_alone(struct tic_handle *handle, void *arg)
{
    struct search *search = arg;

    if (tic_page_ranges_watches(handle, search->held))
        tic_layout_visit(&handle->layout, add_run, search);
    return search->ranges->count == TIC_PAGE_RANGES_MAX;
}

/* ---- pages that several pieces of data share ------------------------------------------------ */

static int add_contiguous(struct tic_handle *handle, void *arg)
{
    return is_contiguous(&handle->layout) ? add_alone(handle, arg) : 0;
}

/* An area is complete. One that is full belongs to its data together: the pages between those of
 * single pieces are added later. */
static void end_area(struct search *search, const struct tic_views *views)
{
    struct area area = search->area;
    bool is_full = area.count > 1 && area.is_free && area.bytes == area.end - area.begin &&
                   search->full_count < AREAS;

    if (area.count > 0)
        tic_views_visit(views, (const char *)area.begin, (const char *)area.end,
                        is_full ? add_contiguous : add_alone, search);
    if (is_full)
        search->full[search->full_count++] = area;
    search->area.count = 0;
}

struct walk {
    struct search *search;
    const struct tic_views *views;
};

static int join(struct tic_handle *handle, void *arg)
{
    struct walk *walk = arg;
    struct area *area = &walk->search->area;
    uintptr_t begin = (uintptr_t)handle->layout.base;
    uintptr_t end = begin + tic_layout_span(&handle->layout);

    if (area->count > 0 && begin > area->end)
        end_area(walk->search, walk->views);
    if (area->count == 0)
        *area = (struct area){begin, end, 0, 0, true};
    area->end = end > area->end ? end : area->end;
    area->bytes += tic_shape_bytes(&handle->layout.shape);
    area->count++;
    area->is_free &= !handle->family && is_free(handle, walk->search->held);
    return 0;
}

/* In pieces, as each is opened whole. */
static void add_gap(struct search *search, uintptr_t begin, uintptr_t end, uintptr_t piece)
{
    for (; begin < end; begin += piece)
        add(search->ranges, begin, end - begin < piece ? end : begin + piece);
}

/* `count` ranges are in order. */
static void fill_area(struct search *search, const struct area *area, size_t count)
{
    enum { PIECES = 256 };
    uintptr_t begin = area->begin, end = area->end;

    round_to_pages(search->page, &begin, &end);
    if (begin >= end)
        return;
    uintptr_t piece = ((end - begin) / PIECES / search->page + 1) * search->page;
    for (size_t i = 0; i < count; i++) {
        const struct tic_page_range *range = &search->ranges->items[i];
        if ((uintptr_t)range->end <= begin || (uintptr_t)range->begin >= end)
            continue;
        add_gap(search, begin, (uintptr_t)range->begin, piece);
        begin = (uintptr_t)range->end;
    }
    add_gap(search, begin, end, piece);
}

/* ---- putting them in order ------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct tic_page_range *first = a, *second = b;

    return first->begin < second->begin ? -1 : first->begin > second->begin;
}

/* Several pieces of data may have the same memory. */
static void put_in_order(struct tic_page_ranges *ranges)
{
    size_t count = 0;

    tic_sort(ranges->items, ranges->count, compare);
    for (size_t i = 0; i < ranges->count; i++) {
        struct tic_page_range range = ranges->items[i];
        if (count > 0 && range.begin < ranges->items[count - 1].end)
            range.begin = ranges->items[count - 1].end;
        if (range.begin < range.end)
            ranges->items[count++] = range;
    }
    ranges->count = count;
}

static void find_all(struct search *search, const struct tic_views *views)
{
    struct walk walk = {search, views};
    struct tic_page_ranges *ranges = search->ranges;

    tic_views_visit(views, NULL, (const char *)UINTPTR_MAX, join, &walk);
    end_area(search, views);
    put_in_order(ranges);
    size_t count = ranges->count;
    for (size_t i = 0; i < search->full_count; i++)
        fill_area(search, &search->full[i], count);
    if (ranges->count > count)
        put_in_order(ranges);
}

static uint64_t hash_of(const struct tic_page_ranges *ranges)
{
    uint64_t hash = ranges->count;

    for (size_t i = 0; i < ranges->count; i++) {
        hash = (hash ^ (uintptr_t)ranges->items[i].begin) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (uintptr_t)ranges->items[i].end ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    }
    return hash;
}

/* ---- what may be closed --------------------------------------------------------------------- */

/* Memory that is not readable, writable and nothing else could not be opened again as it was. The
 * stack is needed by the handler. */
static bool is_plain(const char *permissions, const char *rest)
{
    return strncmp(permissions, "rw-", 3) == 0 && !strstr(rest, "[stack");
}

/* The part of a range that a mapping covers and that stays; ranges may span several mappings. */
static void keep_part(struct tic_page_ranges *kept, const struct tic_page_range *range, char *begin,
                      char *end)
{
    struct tic_page_range part = *range;

    if (part.begin < begin)
        part.begin = begin;
    if (part.end > end)
        part.end = end;
    if (part.begin < part.end && kept->count < TIC_PAGE_RANGES_MAX)
        kept->items[kept->count++] = part;
}

/* Copies into `kept` what lies in plain memory. */
static void keep_plain(struct tic_page_ranges *kept, const struct tic_page_ranges *all)
{
    FILE *maps = tic_content_open("/proc/self/maps");
    char line[512], permissions[8], rest[256];
    unsigned long begin, end;
    size_t at = 0;

    kept->count = 0;
    while (maps && at < all->count && fgets(line, sizeof(line), maps)) {
        rest[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &begin, &end, permissions, rest) < 3)
            continue;
        while (at < all->count && (uintptr_t)all->items[at].end <= begin)
            at++;
        for (size_t i = at; i < all->count && (uintptr_t)all->items[i].begin < end; i++)
            if (is_plain(permissions, rest))
                keep_part(kept, &all->items[i], (char *)begin, (char *)end);
    }
    if (maps)
        fclose(maps);
}

/* ---- what is not watched -------------------------------------------------------------------- */

struct judgement {
    const struct tic_page_ranges *ranges;
    bool held;
};

static int compare_end(const void *address, const void *item)
{
    const struct tic_page_range *range = item;

    return (const char *)address < range->begin ? -1 : (const char *)address >= range->end;
}

/* 1: no, for tic_layout_visit. Ranges lie side by side where data does. */
static int is_not_covered(char *run, uint64_t bytes, void *arg)
{
    const struct tic_page_ranges *ranges = arg;
    const struct tic_page_range *range = tic_find(run, ranges->items, ranges->count, compare_end);
    const struct tic_page_range *end = ranges->items + ranges->count;
    const char *to = run + bytes;

    while (range && range->protection != OPEN && range->end < to && range + 1 < end &&
           range[1].begin == range->end)
        range++;
    return !range || range->protection == OPEN || range->end < to;
}

static int judge(struct tic_handle *handle, void *arg)
{
    const struct judgement *by = arg;

    if (tic_page_ranges_watches(handle, by->held))
        tic_watched_note(handle->id, tic_shape_bytes(&handle->layout.shape),
                         tic_layout_visit(&handle->layout, is_not_covered, (void *)by->ranges) ==
                             0);
    return 0;
}

void tic_page_ranges_judge(const struct tic_page_ranges *ranges, const struct tic_views *views,
                           bool held)
{
    struct judgement by = {ranges, held};

    tic_views_visit(views, NULL, (const char *)UINTPTR_MAX, judge, &by);
}

/* ---- all of it ------------------------------------------------------------------------------ */

bool tic_page_ranges_find(struct tic_page_ranges *ranges, const struct tic_page_ranges *current,
                          const struct tic_views *views, bool held)
{
    static struct tic_page_ranges all;
    static struct area full[AREAS];
    struct search search = {
        .ranges = &all, .page = (uintptr_t)sysconf(_SC_PAGESIZE), .held = held, .full = full};

    if (!all.items && !tic_page_ranges_create(&all))
        return false;
    all.count = 0;
    find_all(&search, views);
    ranges->hash = hash_of(&all);
    if (ranges->hash == current->hash)
        return false;
    keep_plain(ranges, &all);
    return true;
}
