/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the core gives this library. */
#ifndef TIC_MPI_CORE_H
#define TIC_MPI_CORE_H

#include "base/ranks.h"

/* NULL: nothing is to be done here. wrap.c sets it at load; immutable then. */
extern const struct tic_ranks_core *tic_mpi_core;

#endif
