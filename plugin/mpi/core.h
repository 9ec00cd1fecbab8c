/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the core gives this library. */
#ifndef TIC_MPI_CORE_H
#define TIC_MPI_CORE_H

#include <time.h>

#include "base/ranks.h"

/* NULL: nothing is to be done here. wrap.c sets it at load; immutable then. */
extern const struct tic_ranks_core *tic_mpi_core;

/* Of a clock that nobody sets. */
static inline double tic_mpi_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
