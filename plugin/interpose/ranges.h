/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ranges of whole pages that pages.c may close: which memory belongs to one piece of data only.
 * Owner thread only. */
#ifndef TIC_INTERPOSE_RANGES_H
#define TIC_INTERPOSE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* The kernel allows some 65000 mappings, and the program needs some: each range may split one in
 * three. What comes after that many is not watched. */
enum { TIC_PAGE_RANGES_MAX = 8192 };

struct tic_page_range {
    char *begin, *end;
    const char *first, *last; /* the data lies from here to before there */
    uint64_t id, bytes;       /* of the data */
    int protection;           /* as mprotect has it */
    unsigned kinds;           /* enum tic_touch, since it was closed first */
};

struct tic_page_ranges {
    struct tic_page_range *items; /* ascending, disjoint; TIC_PAGE_RANGES_MAX of them */
    size_t count;
    uint64_t hash; /* of what was asked for */
};

/* False when out of memory. */
bool tic_page_ranges_create(struct tic_page_ranges *ranges);
/* Finds the ranges of all data that main() registered with memory of its own, that tasks have
 * written, and that main() does not hold. held: main() holds some. Nothing is to be closed. True
 * when they are others than `current`; else *ranges is of no use. */
bool tic_page_ranges_find(struct tic_page_ranges *ranges, const struct tic_page_ranges *current,
                          const struct tic_views *views, bool held);

#endif
