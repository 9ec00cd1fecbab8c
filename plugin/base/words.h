/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hashes of numbers that are the same on every machine: of their bytes in little-endian order. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TIC_WORDS_MOST = 4 };

/* XXH3-64 of up to TIC_WORDS_MOST numbers. */
static inline uint64_t tic_words_hash(const uint64_t *words, size_t count, uint64_t seed)
{
    uint64_t little[TIC_WORDS_MOST] = {0};

    for (size_t i = 0; i < count && i < TIC_WORDS_MOST; i++)
        little[i] = htole64(words[i]);
    return XXH3_64bits_withSeed(little, count * sizeof(*little), seed);
}
