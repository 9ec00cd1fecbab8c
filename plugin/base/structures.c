/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/structures.h"

#include <stdatomic.h>
#include <stdint.h>

enum { STRUCTURES = 1 << 20 };

static _Atomic uint64_t structures[STRUCTURES / 64];

static uint64_t place_of(const void *at)
{
    return (uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u >> 44;
}

void tic_structure_note(const void *at)
{
    uint64_t bit = place_of(at), mask = (uint64_t)1 << bit % 64;
    _Atomic uint64_t *word = &structures[bit / 64];

    if (!(atomic_load_explicit(word, memory_order_relaxed) & mask))
        atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
}

bool tic_structure_was(const void *at)
{
    uint64_t bit = place_of(at);

    return atomic_load_explicit(&structures[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}
