/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ranges of whole pages that pages.c may close: memory that belongs to registered data only.
 * Owner thread only, if nothing else is said. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* The kernel allows some 65000 mappings, and the program needs some: each range may split one in
 * three. Data beyond that is not watched. */
enum { TIC_PAGE_RANGES_MAX = 8192 };

struct tic_page_range {
    char *begin, *end;
    int protection; /* as mprotect has it */
};

struct tic_page_ranges {
    struct tic_page_range *items; /* ascending, disjoint; TIC_PAGE_RANGES_MAX of them */
    size_t count;
    uint64_t hash; /* of the ranges before unsuitable mappings were left out */
};

/* False when out of memory. */
bool tic_page_ranges_create(struct tic_page_ranges *ranges);
/* Data that main() must not touch: tasks have written it, and main() does not hold it. held: main()
 * holds some data. Any thread, while nothing is registered or unregistered. */
bool tic_page_ranges_watches(const struct tic_handle *handle, bool held);
/* Does this byte belong to the data? Any thread. */
bool tic_page_ranges_has(const struct tic_handle *handle, const char *address);
/* Notes which of the data that is to be watched these ranges cover (report/watched.h). */
void tic_page_ranges_judge(const struct tic_page_ranges *ranges, const struct tic_views *views,
                           bool held);
/* Finds the ranges, while all pages are open. True when they are others than `current`; else
 * *ranges is of no use. */
bool tic_page_ranges_find(struct tic_page_ranges *ranges, const struct tic_page_ranges *current,
                          const struct tic_views *views, bool held);
