/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays in ascending order. Where there are no items the array may be NULL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As of qsort(3). */
typedef int (*tic_comparison)(const void *a, const void *b);

static inline int tic_order(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

#define tic_sort(items, count, compare) tic_sort_bytes(items, count, sizeof(*(items)), compare)
void tic_sort_bytes(void *items, size_t count, size_t size, tic_comparison compare);
/* Sorts, and removes what equals the item before it. Returns how many are left. */
#define tic_sort_once(items, count, compare)                                                       \
    tic_sort_once_bytes(items, count, sizeof(*(items)), compare)
size_t tic_sort_once_bytes(void *items, size_t count, size_t size, tic_comparison compare);
/* An item that equals the key, or NULL. */
#define tic_find(key, items, count, compare)                                                       \
    tic_find_bytes(key, items, count, sizeof(*(items)), compare)
void *tic_find_bytes(const void *key, const void *items, size_t count, size_t size,
                     tic_comparison compare);
/* The place of the first item, each of which begins with a u64, that is not below the number; or
 * `count`. */
#define tic_first_from(number, items, count)                                                       \
    tic_first_from_bytes(number, items, count, sizeof(*(items)))
size_t tic_first_from_bytes(uint64_t number, const void *items, size_t count, size_t size);
