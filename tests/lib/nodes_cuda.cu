/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of nodes on CUDA devices. They are also functions of the host, for the stand-in for
 * CUDA's runtime library (cuda/), if that is loaded. */
#include "nodes_cuda.h"
#include "cuda/cudart.h"
#include <dlfcn.h>
#include <starpu.h>
#include <stdlib.h>

#define BOTH static __host__ __device__ void

BOTH mix_one(uint64_t *x, const uint64_t *, uint64_t a, unsigned i)
{
    x[i] = x[i] * 2862933555777941757u + a + i;
}

BOTH fill_one(uint64_t *x, const uint64_t *, uint64_t a, unsigned i)
{
    x[i] = a * 3202034522624059733u + i;
}

BOTH turn_one(uint64_t *x, const uint64_t *y, uint64_t a, unsigned i)
{
    x[i] = (y[i] ^ a) * 3935559000370003845u;
}

BOTH add_one(uint64_t *x, const uint64_t *y, uint64_t a, unsigned i)
{
    x[i] = x[i] * 5 + y[i] + a;
}

enum { THREADS = 64 };

#define KERNEL(name, y_)                                                                           \
    __global__ void run_##name(uint64_t *x, const uint64_t *y, uint64_t a, unsigned n)             \
    {                                                                                              \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
        if (i < n)                                                                                 \
            name##_one(x, y, a, i);                                                                \
    }                                                                                              \
    static void stand_for_##name(void **args, dim3 grid, dim3 block)                               \
    {                                                                                              \
        for (unsigned i = 0; i < grid.x * block.x && i < *(unsigned *)args[3]; i++)                \
            name##_one(*(uint64_t **)args[0], *(const uint64_t **)args[1], *(uint64_t *)args[2],   \
                       i);                                                                         \
    }                                                                                              \
    void name##_cuda(void *buffers[], void *arg)                                                   \
    {                                                                                              \
        unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);                                             \
        uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);                               \
        run_##name<<<(n + THREADS - 1) / THREADS, THREADS, 0, starpu_cuda_get_local_stream()>>>(   \
            x, y_, *(uint64_t *)arg, n);                                                           \
        check(cudaGetLastError());                                                                 \
    }

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        STARPU_CUDA_REPORT_ERROR(error);
}

#define SECOND (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1])

KERNEL(mix, NULL)
KERNEL(fill, NULL)
KERNEL(turn, SECOND)
KERNEL(add, SECOND)

uint64_t *nodes_cuda_read(void *buffer)
{
    size_t size = STARPU_VECTOR_GET_NX(buffer) * sizeof(uint64_t);
    uint64_t *copy = (uint64_t *)malloc(size);

    check(cudaMemcpyAsync(copy, (void *)STARPU_VECTOR_GET_PTR(buffer), size, cudaMemcpyDeviceToHost,
                          starpu_cuda_get_local_stream()));
    check(cudaStreamSynchronize(starpu_cuda_get_local_stream()));
    return copy;
}

__attribute__((constructor)) static void stand_for_all(void)
{
    static const size_t sizes[] = {sizeof(uint64_t *), sizeof(uint64_t *), sizeof(uint64_t),
                                   sizeof(unsigned), 0};
    auto stand_for = (decltype(&cudart_stand_for))dlsym(RTLD_DEFAULT, "cudart_stand_for");

    if (!stand_for)
        return;
    stand_for("_Z7run_mixPmPKmmj", stand_for_mix, sizes);
    stand_for("_Z8run_fillPmPKmmj", stand_for_fill, sizes);
    stand_for("_Z8run_turnPmPKmmj", stand_for_turn, sizes);
    stand_for("_Z7run_addPmPKmmj", stand_for_add, sizes);
}
