/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The set of done tasks of one submission context: a dense prefix and a bitmap window above it.
 * Pure data structure; the caller synchronises. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/line.h"

struct tic_doneset {
    uint64_t base;  /* every sequence number below it is done; a multiple of 64 */
    uint64_t count; /* how many are done in all */
    uint64_t *words;
    size_t first; /* index of the word for base */
    size_t used;  /* words in use from first */
    size_t capacity;
};

void tic_doneset_init(struct tic_doneset *set);
void tic_doneset_fini(struct tic_doneset *set);
/* 0, -EEXIST when it is done already, -ENOMEM. */
int tic_doneset_add(struct tic_doneset *set, uint64_t sequence);
int tic_doneset_add_range(struct tic_doneset *set, struct tic_range range);
bool tic_doneset_contains(const struct tic_doneset *set, uint64_t sequence);
/* One above the highest done sequence number; 0 when empty. */
uint64_t tic_doneset_end(const struct tic_doneset *set);
/* Allocates the maximal ranges in ascending order; *count of them. 0 or -ENOMEM. */
int tic_doneset_ranges(const struct tic_doneset *set, struct tic_range **ranges, size_t *count);
