/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: time() starts at the same value in every process and ticks with
 * every call, so that runs whose input is seeded with it can be compared. */
#include <time.h>

time_t time(time_t *out)
{
    static time_t ticks = 1600000000;
    ticks++;
    if (out)
        *out = ticks;
    return ticks;
}
