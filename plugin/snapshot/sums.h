/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checksums of data as it is in memory, and what they take. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"

struct tic_sums {
    _Atomic uint64_t ns, bytes; /* relaxed */
};

/* False if main() has given its memory back; perhaps meanwhile, if this is the checkpoint thread or
 * one that helps it. */
bool tic_sums_take(struct tic_sums *sums, const struct tic_handle *handle, uint64_t *sum);
/* The same where a task has just used it, and the kernel need not be asked. */
bool tic_sums_take_used(struct tic_sums *sums, const struct tic_handle *handle, uint64_t *sum);
