/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stand-in for CUDA's runtime library (cudart.c) offers beside CUDA's own functions. */
#ifndef CUDART_H
#define CUDART_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Stands for a kernel: args as cudaLaunchKernel gets them, but pointers to device memory are ones
 * that may be used. */
typedef void (*cudart_kernel)(void **args, dim3 grid, dim3 block);

/* For a kernel by its name, as in device code (nm of the object: _Z3mixPmjm) or, if no other is
 * named so, in the source; with the sizes of its arguments, which end with 0. Programs that can do
 * without the stand-in look for it by dlsym. */
void cudart_stand_for(const char *name, cudart_kernel run, const size_t *sizes);

/* Where an address of device memory can be used on the host, by kernels only. */
void *cudart_view(const void *device_address);

#ifdef __cplusplus
}
#endif
#endif
