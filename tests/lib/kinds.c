/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: memory nodes other than main memory seem to be of CUDA devices. */
#include <starpu.h>

enum starpu_node_kind starpu_node_get_kind(unsigned node)
{
    return node == STARPU_MAIN_RAM ? STARPU_CPU_RAM : STARPU_CUDA_RAM;
}
