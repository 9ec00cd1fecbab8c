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

int tic_append_bytes(void *items, unsigned long *count, unsigned long *capacity, const void *item,
                     unsigned long size)
{
    char *grown;

    memcpy(&grown, items, sizeof(grown));
    grown = tic_grow(grown, capacity, *count + 1, size);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + (*count)++ * size, item, size);
    memcpy(items, &grown, sizeof(grown));
    return 0;
}
