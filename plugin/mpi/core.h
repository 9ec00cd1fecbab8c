/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the core gives this library. */
#pragma once

#include <time.h>

#include "base/next.h"
#include "base/ranks.h"

/* NULL: nothing is to be done here. wrap.c sets it at load; immutable then. */
extern const struct tic_ranks_core *tic_mpi_core;

/* A function of MPI or StarPU-MPI that is not ours; -1: there is none. */
#define TIC_MPI(name, ...)                                                                         \
    ({                                                                                             \
        TIC_NEXT(name);                                                                            \
        real ? real(__VA_ARGS__) : -1;                                                             \
    })

/* Of a clock that nobody sets. */
static inline double tic_mpi_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
