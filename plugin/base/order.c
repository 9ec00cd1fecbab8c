/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

void tic_sort_bytes(void *items, size_t count, size_t size, tic_comparison compare)
{
    if (count > 0)
        qsort(items, count, size, compare);
}

size_t tic_sort_once_bytes(void *items, size_t count, size_t size, tic_comparison compare)
{
    char *last = items, *item = items;
    size_t kept = count > 0;

    tic_sort_bytes(items, count, size, compare);
    for (size_t i = 1; i < count; i++) {
        item += size;
        if (compare(last, item) == 0)
            continue;
        last += size;
        if (last != item)
            memcpy(last, item, size);
        kept++;
    }
    return kept;
}

void *tic_find_bytes(const void *key, const void *items, size_t count, size_t size,
                     tic_comparison compare)
{
    return count > 0 ? bsearch(key, items, count, size, compare) : NULL;
}

size_t tic_first_from_bytes(uint64_t number, const void *items, size_t count, size_t size)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t begin;
        memcpy(&begin, (const char *)items + middle * size, sizeof(begin));
        if (begin < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
