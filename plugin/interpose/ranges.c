/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ranges of whole pages that may be closed. */
#include "interpose/ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/tasks.h"

bool tic_page_ranges_create(struct tic_page_ranges *ranges)
{
    *ranges =
        (struct tic_page_ranges){.items = calloc(TIC_PAGE_RANGES_MAX, sizeof(*ranges->items))};
    return ranges->items != NULL;
}

/* ---- what the data has ---------------------------------------------------------------------- */

struct search {
    struct tic_page_ranges *ranges;
    const struct tic_handle *handle;
    uintptr_t page;
    bool held;
};

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

static int add_run(char *run, uint64_t bytes, void *arg)
{
    struct search *search = arg;
    struct tic_page_ranges *ranges = search->ranges;
    uintptr_t page = search->page, begin = ((uintptr_t)run + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)run + bytes) / page * page;
    size_t size;

    if (bytes < page || ranges->count == TIC_PAGE_RANGES_MAX)
        return 1;
    if (is_own_mapping(run, bytes, page, &size)) {
        begin = (uintptr_t)run / page * page;
        end = begin + size;
    }
    if (begin < end)
        ranges->items[ranges->count++] = (struct tic_page_range){
            .begin = (char *)begin,
            .end = (char *)end,
            .first = run,
            .last = run + bytes,
            .id = search->handle->id,
            .bytes = tic_shape_bytes(&search->handle->layout.shape),
            .protection = PROT_READ | PROT_WRITE,
        };
    return 0;
}

/* Data that no task has written is what main() made it, and will make it again. */
static bool has_task_values(const struct tic_handle *handle)
{
    bool has = tic_data_holds_values(handle);

    for (unsigned i = 0; i < handle->child_count && !has; i++)
        has = has_task_values(handle->children[i]);
    return has;
}

/* What main() holds may be a part of it, or share its memory. */
static bool is_free(const struct tic_handle *handle, bool held)
{
    return handle->data && has_task_values(handle) &&
           !(held &&
             (atomic_load(&handle->holds) > 0 || handle->family || handle->child_count > 0));
}

static int add_handle(struct tic_handle *handle, void *arg)
{
    struct search *search = arg;

    search->handle = handle;
    if (is_free(handle, search->held))
        tic_layout_visit(&handle->layout, add_run, search);
    return search->ranges->count == TIC_PAGE_RANGES_MAX;
}

/* ---- putting them in order ------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct tic_page_range *first = a, *second = b;

    if (first->begin != second->begin)
        return first->begin < second->begin ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* Memory that several pieces of data share counts for one of them. */
static void make_disjoint(struct tic_page_ranges *ranges)
{
    size_t count = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        struct tic_page_range range = ranges->items[i];
        if (count > 0 && range.begin < ranges->items[count - 1].end)
            range.begin = ranges->items[count - 1].end;
        if (range.begin < range.end)
            ranges->items[count++] = range;
    }
    ranges->count = count;
}

static uint64_t hash_of(const struct tic_page_ranges *ranges)
{
    uint64_t hash = ranges->count;

    for (size_t i = 0; i < ranges->count; i++) {
        hash = (hash ^ (uintptr_t)ranges->items[i].begin) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (uintptr_t)ranges->items[i].end) * UINT64_C(0xd6e8feb86659fd93);
        hash = (hash ^ ranges->items[i].id ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
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
    FILE *maps = fopen("/proc/self/maps", "re");
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

bool tic_page_ranges_find(struct tic_page_ranges *ranges, const struct tic_page_ranges *current,
                          const struct tic_views *views, bool held)
{
    static struct tic_page_ranges all;
    struct search search = {&all, NULL, (uintptr_t)sysconf(_SC_PAGESIZE), held};

    if (!all.items && !tic_page_ranges_create(&all))
        return false;
    all.count = 0;
    tic_views_visit(views, NULL, (const char *)UINTPTR_MAX, add_handle, &search);
    qsort(all.items, all.count, sizeof(*all.items), compare);
    make_disjoint(&all);
    ranges->hash = hash_of(&all);
    if (ranges->hash == current->hash)
        return false;
    keep_plain(ranges, &all);
    return true;
}
