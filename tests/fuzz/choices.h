/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What fuzzers of readers share: choices, which are libFuzzer's input or come from a seed, and
 * changes that are taken back. Included by one file of each program, linked with --wrap=tic_log. */
#ifndef TIC_FUZZ_CHOICES_H
#define TIC_FUZZ_CHOICES_H

#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* Warnings of damage would be many. */
void __wrap_tic_log(enum tic_level level, const char *fmt, ...);
void __wrap_tic_log(enum tic_level level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

static const uint8_t *choices, *choices_end;

static uint64_t choose(uint64_t below)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < sizeof(value) && choices < choices_end; i++)
        value = value << 8 | *choices++;
    return value % below;
}

static uint64_t wild(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      255,
                                      256,
                                      65535,
                                      65536,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      1u << 31,
                                      UINT64_C(1) << 32,
                                      INT64_MAX,
                                      UINT64_MAX,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX - 1,
                                      UINT32_MAX - 1,
                                      4096,
                                      262144,
                                      UINT64_C(1) << 47};
    uint64_t which = choose(sizeof(values) / sizeof(values[0]) + 4);

    return which < sizeof(values) / sizeof(values[0]) ? values[which] : choose(UINT32_MAX);
}

/* What a change has overwritten. */
struct change {
    void *place;
    size_t size;
    unsigned char before[8];
};

static void set(struct change *change, void *place, size_t size)
{
    uint64_t value = wild();

    change->place = place;
    change->size = size;
    memcpy(change->before, place, size);
    if (choose(4) == 0) /* near what it is */
        *(unsigned char *)place = (unsigned char)(*(unsigned char *)place + choose(3) - 1);
    else
        memcpy(place, &value, size);
}

/* The last one first. */
static void take_back(const struct change *changes, uint64_t count)
{
    for (uint64_t i = count; i-- > 0;)
        if (changes[i].place)
            memcpy(changes[i].place, changes[i].before, changes[i].size);
}

#endif
