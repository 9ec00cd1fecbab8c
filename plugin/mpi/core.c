/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/core.h"

const struct tic_ranks_core *tic_mpi_core;
