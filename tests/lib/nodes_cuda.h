/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of nodes on CUDA devices. */
#ifndef NODES_CUDA_H
#define NODES_CUDA_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

void mix_cuda(void *buffers[], void *arg);
void fill_cuda(void *buffers[], void *arg);
void turn_cuda(void *buffers[], void *arg);
void add_cuda(void *buffers[], void *arg);

/* The data, on the host, in memory that the caller frees. */
uint64_t *nodes_cuda_read(void *buffer);

#ifdef __cplusplus
}
#endif
#endif
