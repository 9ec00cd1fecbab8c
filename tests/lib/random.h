/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random numbers that can be had again: the seed is fixed, or TIC_TEST_SEED, and printed. */
#ifndef TIC_LIB_RANDOM_H
#define TIC_LIB_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct tic_random {
    uint64_t state;
};

/* The seed of this run; prints it, as a TAP comment, the first time. */
uint64_t tic_random_seed(void);
/* `stream` tells apart the generators of one test. */
void tic_random_init(struct tic_random *random, uint64_t stream);
uint64_t tic_random_next(struct tic_random *random);
/* 0 .. limit - 1; limit > 0. */
uint64_t tic_random_below(struct tic_random *random, uint64_t limit);
void tic_random_fill(struct tic_random *random, void *bytes, size_t size);

#endif
