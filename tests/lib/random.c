/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random numbers that can be had again: splitmix64. */
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_SEED = 20240607 };

uint64_t tic_random_seed(void)
{
    static uint64_t seed;
    const char *text = getenv("TIC_TEST_SEED");

    if (seed == 0) {
        seed = text && *text ? strtoull(text, NULL, 10) : DEFAULT_SEED;
        printf("# TIC_TEST_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

void tic_random_init(struct tic_random *random, uint64_t stream)
{
    random->state = tic_random_seed() * UINT64_C(0x2545F4914F6CDD1D) + stream;
}

uint64_t tic_random_next(struct tic_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t tic_random_below(struct tic_random *random, uint64_t limit)
{
    return tic_random_next(random) % limit;
}

void tic_random_fill(struct tic_random *random, void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)tic_random_next(random);
}
