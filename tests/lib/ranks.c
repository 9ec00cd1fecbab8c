/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands for MPI and StarPU-MPI, preloaded: MPI runs from the call on whose number RANKS_FROM tells
 * (default: the first), with as many processes as RANKS says. */
#include <stdlib.h>

int MPI_Initialized(int *flag);
int starpu_mpi_world_size(void);

int MPI_Initialized(int *flag)
{
    static int calls;
    const char *from = getenv("RANKS_FROM");

    *flag = ++calls >= (from ? atoi(from) : 1);
    return 0;
}

int starpu_mpi_world_size(void)
{
    return atoi(getenv("RANKS"));
}
