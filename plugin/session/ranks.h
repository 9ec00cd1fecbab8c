/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is this process a rank of several, and may it be protected (base/ranks.h)? By the launcher's
 * variables, before MPI runs; what MPI says then is compared with them. */
#pragma once

#include "base/ranks.h"

/* NULL: there is no library beside StarPU-MPI, or STARPU_TIC_RANKS does not ask for lines, or the
 * launcher tells of no other ranks. Immutable before main(). */
const struct tic_ranks *tic_ranks_library(void);
unsigned tic_ranks_rank(void);
unsigned tic_ranks_count(void);
/* As the launcher tells; 1 where it does not. */
unsigned tic_ranks_launched(void);
/* The library offers itself. False: it is not needed. */
bool tic_ranks_take(const struct tic_ranks *library);
