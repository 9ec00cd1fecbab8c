/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: memory nodes other than main memory seem to be of CUDA devices, or
 * of those that KINDS names (hip, fpga: StarPU 1.4; mpi: slaves). */
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

enum starpu_node_kind starpu_node_get_kind(unsigned node)
{
    const char *kind = getenv("KINDS");

    if (node == STARPU_MAIN_RAM)
        return STARPU_CPU_RAM;
    if (kind && strcmp(kind, "mpi") == 0)
        return STARPU_MPI_MS_RAM;
#if STARPU_MINOR_VERSION >= 4
    if (kind && strcmp(kind, "hip") == 0)
        return STARPU_HIP_RAM;
    if (kind && strcmp(kind, "fpga") == 0)
        return STARPU_MAX_FPGA_RAM;
#endif
    return STARPU_CUDA_RAM;
}
