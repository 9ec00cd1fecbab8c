/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays that grow. */
#pragma once

/* malloc family whose failure is reported once by the caller as -ENOMEM. */
void *tic_grow(void *array, unsigned long *capacity, unsigned long needed, unsigned long item);
/* Room for `needed` of `items`, an array that grows. 0 or -ENOMEM. */
#define tic_reserve(items, capacity, needed)                                                       \
    tic_reserve_bytes(&(items), &(capacity), needed, sizeof(*(items)))
int tic_reserve_bytes(void *items, unsigned long *capacity, unsigned long needed,
                      unsigned long size);
/* Appends a copy of `*...` to `items`, an array that grows. 0 or -ENOMEM. */
#define tic_append(items, count, capacity, ...)                                                    \
    tic_append_bytes(&(items), &(count), &(capacity), 1 ? (__VA_ARGS__) : (items), sizeof(*(items)))
int tic_append_bytes(void *items, unsigned long *count, unsigned long *capacity, const void *item,
                     unsigned long size);
/* The same before the item at this place. */
#define tic_insert(items, count, capacity, at, ...)                                                \
    tic_insert_bytes(&(items), &(count), &(capacity), at, 1 ? (__VA_ARGS__) : (items),             \
                     sizeof(*(items)))
int tic_insert_bytes(void *items, unsigned long *count, unsigned long *capacity, unsigned long at,
                     const void *item, unsigned long size);
