/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/near.h"

#include <string.h>

enum { LONGEST = 63, MOST = 2 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The table of Wagner and Fischer, a row at a time. */
bool tic_near(const char *name, size_t length, const char *other)
{
    size_t row[LONGEST + 1], width = strlen(other);

    if (length > LONGEST || width > LONGEST)
        return false;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t changed = diagonal + (name[i] != other[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(changed, least(diagonal, row[j]) + 1);
        }
    }
    return row[width] <= MOST && 2 * row[width] <= width;
}
