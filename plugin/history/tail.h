/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tail of a table that only grows: what it got since its last block on disk. A line holds the
 * tail and refers to the blocks, so it costs what is new. Pure data structure; the caller
 * synchronises. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/table.h"

struct tic_tail {
    uint32_t number; /* immutable: enum tic_table_number */
    size_t item;     /* immutable: bytes of an entry */
    uint64_t first;  /* entries before the tail: they lie in blocks */
    char *items;
    uint64_t *epochs; /* in which they came; 0: before all cuts */
    unsigned long count, item_capacity, epoch_capacity;
    bool closed; /* no line will need an entry: they are only counted */
};

void tic_tail_init(struct tic_tail *tail, uint32_t number);
void tic_tail_fini(struct tic_tail *tail);
/* Starts with the tail of a complete line. 0 or -ENOMEM. */
int tic_tail_load(struct tic_tail *tail, struct tic_line *line);
/* 0 or -ENOMEM. */
int tic_tail_append(struct tic_tail *tail, const void *item, uint64_t epoch);
/* All entries, in blocks or not. */
static inline uint64_t tic_tail_total(const struct tic_tail *tail)
{
    return tail->first + tail->count;
}
/* Fills the table of a line with those entries that came up to a cut, and moves them to the front,
 * in their order. 0 or -ENOMEM. */
int tic_tail_describe(struct tic_tail *tail, uint64_t cut, struct tic_line *line);
/* The first so many entries lie in blocks now. */
void tic_tail_drop(struct tic_tail *tail, unsigned long count);
/* Forgets all entries, and those to come. `total`: so many there are. */
void tic_tail_close(struct tic_tail *tail, uint64_t total);
/* Copies the entries, and what lies in blocks, into an empty tail. 0 or -ENOMEM. */
int tic_tail_copy(const struct tic_tail *tail, struct tic_tail *copy);
