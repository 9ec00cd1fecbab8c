/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *tic_grow(void *array, unsigned long *capacity, unsigned long needed, unsigned long item)
{
    if (needed <= *capacity)
        return array;
    unsigned long wanted = *capacity ? *capacity * 2 : 16;
    while (wanted < needed)
        wanted *= 2;
    void *grown = realloc(array, wanted * item);
    if (!grown)
        return NULL;
    *capacity = wanted;
    return grown;
}

int tic_reserve_bytes(void *items, unsigned long *capacity, unsigned long needed,
                      unsigned long size)
{
    void *grown;

    memcpy(&grown, items, sizeof(grown));
    grown = tic_grow(grown, capacity, needed, size);
    if (!grown)
        return needed > 0 ? -ENOMEM : 0;
    memcpy(items, &grown, sizeof(grown));
    return 0;
}

int tic_append_bytes(void *items, unsigned long *count, unsigned long *capacity, const void *item,
                     unsigned long size)
{
    char *all;

    if (tic_reserve_bytes(items, capacity, *count + 1, size) != 0)
        return -ENOMEM;
    memcpy(&all, items, sizeof(all));
    memcpy(all + (*count)++ * size, item, size);
    return 0;
}

int tic_insert_bytes(void *items, unsigned long *count, unsigned long *capacity, unsigned long at,
                     const void *item, unsigned long size)
{
    int status = tic_append_bytes(items, count, capacity, item, size);
    char *place;

    if (status)
        return status;
    memcpy(&place, items, sizeof(place));
    place += at * size;
    memmove(place + size, place, (*count - 1 - at) * size);
    memcpy(place, item, size);
    return 0;
}
