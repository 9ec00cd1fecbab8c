/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-in for CUDA's runtime library: devices, errors, and what nvcc's stubs of kernels call.
 */
#include "inside.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 1024, MOST_ARGS = 64 };

/* A kernel of the program (stub) or a function that stands for one (run), or both, by name. */
struct CUkern_st {
    const char *name;
    const void *stub;
    cudart_kernel run;
    const size_t *sizes;
};

static struct CUkern_st kernels[MOST_KERNELS];
static size_t count_kernels;
static __thread struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;

/* ---- devices --------------------------------------------------------------------------------- */

CALL cudaGetDeviceCount(int *count)
{
    *count = count_devices;
    return count_devices > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}

CALL cudaSetDevice(int device)
{
    if (device < 0 || device >= count_devices)
        return fail(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

CALL cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

CALL cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return cudaSuccess;
}

CALL cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

CALL cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    if (device < 0 || device >= count_devices)
        return fail(cudaErrorInvalidDevice);
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "stand-in %d", device);
    out->totalGlobalMem = memory;
    out->sharedMemPerBlock = 49152;
    out->warpSize = 32;
    out->maxThreadsPerBlock = 1024;
    out->maxThreadsDim[0] = out->maxThreadsDim[1] = out->maxThreadsDim[2] = 64;
    out->maxGridSize[0] = out->maxGridSize[1] = out->maxGridSize[2] = 65535;
    out->major = 9;
    out->multiProcessorCount = 4;
    out->canMapHostMemory = out->unifiedAddressing = out->concurrentKernels = 1;
    out->pciBusID = device + 1;
    return cudaSuccess;
}

CALL cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr attribute, int device)
{
    *out = 0;
    if (attribute == cudaDevAttrMaxThreadsPerBlock)
        *out = 1024;
    else if (attribute == cudaDevAttrMaxThreadsPerMultiProcessor)
        *out = 2048;
    else if (attribute == cudaDevAttrMultiProcessorCount)
        *out = 4;
    else if (attribute == cudaDevAttrWarpSize)
        *out = 32;
    else if (attribute == cudaDevAttrMaxSharedMemoryPerBlock)
        *out = 49152;
    return device >= 0 && device < count_devices ? cudaSuccess : fail(cudaErrorInvalidDevice);
}

CALL cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return cudaSuccess;
}

CALL cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    return cudaSuccess;
}

CALL cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

CALL cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}

CALL cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

CALL cudaPeekAtLastError(void)
{
    return last_error;
}

EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    static __thread char text[64];

    snprintf(text, sizeof(text), "CUDA error %d of the stand-in", (int)error);
    return text;
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return cudaGetErrorName(error);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The one of that name; a new one if there is none. */
static struct CUkern_st *find_kernel(const char *name)
{
    size_t i = 0;

    pthread_mutex_lock(&tables);
    while (i < count_kernels && strcmp(kernels[i].name, name) != 0)
        i++;
    if (i == MOST_KERNELS)
        abort();
    if (i == count_kernels)
        kernels[count_kernels++].name = name;
    pthread_mutex_unlock(&tables);
    return &kernels[i];
}

EXPORT void cudart_stand_for(const char *name, cudart_kernel run, const size_t *sizes)
{
    struct CUkern_st *kernel = find_kernel(name);

    kernel->run = run;
    kernel->sizes = sizes;
}

/* Arguments are copied, as they are the caller's; addresses of device memory become usable ones. */
static void **copy_args(void **args, const size_t *sizes)
{
    size_t count = 0, size = 0;

    for (; sizes[count]; count++)
        size += (sizes[count] + 15) / 16 * 16;
    void **copy = malloc((count + 1) * sizeof(*copy) + size + 16);
    char *at = (char *)(((uintptr_t)(copy + count + 1) + 15) / 16 * 16);
    for (size_t i = 0; i < count; i++) {
        copy[i] = memcpy(at, args[i], sizes[i]);
        if (sizes[i] == sizeof(void *)) {
            void *value;
            memcpy(&value, at, sizeof(value));
            value = cudart_view(value);
            memcpy(at, &value, sizeof(value));
        }
        at += (sizes[i] + 15) / 16 * 16;
    }
    return copy;
}

/* A function that stands for it by the name that it has in the source, which the one in device code
 * holds with its length. */
static void find_by_source(struct CUkern_st *kernel)
{
    pthread_mutex_lock(&tables);
    for (size_t i = 0; i < count_kernels && !kernel->run; i++) {
        char name[256];
        snprintf(name, sizeof(name), "%zu%s", strlen(kernels[i].name), kernels[i].name);
        if (kernels[i].run && strstr(kernel->name, name)) {
            kernel->sizes = kernels[i].sizes;
            kernel->run = kernels[i].run;
        }
    }
    pthread_mutex_unlock(&tables);
}

static cudaError_t launch(struct CUkern_st *kernel, dim3 grid, dim3 block, void **args,
                          cudaStream_t stream)
{
    if (is_child())
        return fail(cudaErrorInitializationError);
    if (kernel && !kernel->run)
        find_by_source(kernel);
    if (!kernel || !kernel->run) {
        fprintf(stderr, "cudart: nothing stands for kernel %s\n",
                kernel ? kernel->name : "without a name");
        return fail(cudaErrorInvalidDeviceFunction);
    }
    if (block.x * block.y * block.z > 1024 || grid.x == 0)
        return fail(cudaErrorInvalidConfiguration);
    atomic_fetch_add(&counts.launches, 1);
    put(stream, &(struct op){.run = kernel->run,
                             .grid = grid,
                             .block = block,
                             .args = copy_args(args, kernel->sizes)});
    return cudaSuccess;
}

CALL cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *stub)
{
    (void)stub;
    *out = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .numRegs = 32};
    return cudaSuccess;
}

CALL cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *stub, int size,
                                                            size_t shared, unsigned flags)
{
    (void)stub, (void)shared, (void)flags;
    *out = 2048 / size;
    return cudaSuccess;
}

CALL __cudaGetKernel(cudaKernel_t *out, const void *stub)
{
    *out = NULL;
    pthread_mutex_lock(&tables);
    for (size_t i = 0; i < count_kernels && !*out; i++)
        if (kernels[i].stub == stub)
            *out = &kernels[i];
    pthread_mutex_unlock(&tables);
    return *out ? cudaSuccess : fail(cudaErrorInvalidDeviceFunction);
}

CALL __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                        cudaStream_t stream)
{
    (void)shared;
    return launch(kernel, grid, block, args, stream);
}

CALL cudaLaunchKernel(const void *stub, dim3 grid, dim3 block, void **args, size_t shared,
                      cudaStream_t stream)
{
    cudaKernel_t kernel;

    (void)shared;
    __cudaGetKernel(&kernel, stub);
    return launch(kernel, grid, block, args, stream);
}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                            struct CUstream_st *stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    return 0;
}

CALL __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *(cudaStream_t *)stream = configuration.stream;
    return cudaSuccess;
}

EXPORT void __cudaRegisterFunction(void **binary, const char *stub, char *fun, const char *name,
                                   int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                   int *size)
{
    (void)binary, (void)fun, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
    find_kernel(name)->stub = stub;
}

EXPORT void **__cudaRegisterFatBinary(void *binary)
{
    static void *nothing[1];

    (void)binary;
    return nothing;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **binary)
{
    (void)binary;
}

EXPORT void __cudaUnregisterFatBinary(void **binary)
{
    (void)binary;
}

EXPORT char __cudaInitModule(void **binary)
{
    (void)binary;
    return 1;
}
