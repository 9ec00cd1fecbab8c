/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lock order check of debug builds. */
#include "base/lock.h"

#ifdef TIC_DEBUG
#include <stdio.h>
#include <stdlib.h>

static __thread unsigned held; /* bit per rank */

void tic_lock_check_acquire(enum tic_lock_rank rank)
{
    if (held >> rank) {
        fprintf(stderr, "starpu-tic: lock order: rank %d after mask %#x\n", (int)rank, held);
        abort();
    }
    held |= 1u << rank;
}

void tic_lock_check_release(enum tic_lock_rank rank)
{
    held &= ~(1u << rank);
}
#endif
