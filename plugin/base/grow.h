/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays that grow. */
#pragma once

/* malloc family whose failure is reported once by the caller as -ENOMEM. */
void *tic_grow(void *array, unsigned long *capacity, unsigned long needed, unsigned long item);
/* Appends a copy of `*...` to `items`, an array that grows. 0 or -ENOMEM. */
#define tic_append(items, count, capacity, ...)                                                    \
    tic_append_bytes(&(items), &(count), &(capacity), 1 ? (__VA_ARGS__) : (items), sizeof(*(items)))
int tic_append_bytes(void *items, unsigned long *count, unsigned long *capacity, const void *item,
                     unsigned long size);
