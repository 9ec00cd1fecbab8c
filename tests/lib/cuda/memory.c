/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stand-in for CUDA's runtime library, for machines without a device. It is loaded in its place,
 * by its name and LD_LIBRARY_PATH. Device memory is memory of the host that cannot be touched by
 * the addresses that programs get, and holds 0xA5 at first. What is put on streams is done as late
 * as may be: when somebody waits for it, or asks for the CUDART_LATE-th time (3) whether it is
 * done. Kernels are functions of the host (cudart.h), of programs or of the library CUDART_KERNELS;
 * others are an error. As with a real device nothing works in a forked child, memory is pinned once
 * only, and copies stay inside of what was allocated.
 *   CUDART_DEVICES  how many (1)
 *   CUDART_MB       memory of each, in MiB (1024)
 *   CUDART_COUNTS   gets a line of JSON at the end: bytes copied, kernels, pinned bytes */
#include "inside.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 512, FRESH = 0xA5 };

struct device devices[MOST_DEVICES];
int count_devices = 1;
size_t memory = 1024;
unsigned late = 3;
pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
struct CUstream_st *streams;
struct range *pinned;
struct cudart_counts counts;
__thread int current;
__thread cudaError_t last_error;

static pid_t owner;

cudaError_t fail(cudaError_t error)
{
    atomic_fetch_add(&counts.errors, error != cudaSuccess && error != cudaErrorNotReady);
    return error == cudaSuccess ? error : (last_error = error);
}

bool is_child(void)
{
    return getpid() != owner;
}

static unsigned long number(const char *name, unsigned long otherwise)
{
    return getenv(name) ? strtoul(getenv(name), NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    owner = getpid();
    late = (unsigned)number("CUDART_LATE", late);
    memory = number("CUDART_MB", memory) << 20;
    count_devices = (int)number("CUDART_DEVICES", 1);
    count_devices = count_devices > MOST_DEVICES ? MOST_DEVICES : count_devices;
    for (int i = 0; i < count_devices; i++) {
        struct device *device = &devices[i];
        int fd = memfd_create("device memory", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)memory) != 0)
            abort();
        device->given = mmap(NULL, memory, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        device->view =
            mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        close(fd);
        if (device->given == MAP_FAILED || device->view == MAP_FAILED)
            abort();
        madvise(device->view, memory, MADV_DONTFORK);
        device->null =
            (struct CUstream_st){.last = &device->null.first, .device = i, .blocking = true};
        pthread_mutex_init(&device->null.lock, NULL);
        device->null.next = streams;
        streams = &device->null;
    }
    if (getenv("CUDART_KERNELS") && !dlopen(getenv("CUDART_KERNELS"), RTLD_NOW | RTLD_GLOBAL))
        fprintf(stderr, "cudart: %s\n", dlerror());
}

__attribute__((destructor)) static void end(void)
{
    FILE *file =
        getenv("CUDART_COUNTS") && !is_child() ? fopen(getenv("CUDART_COUNTS"), "a") : NULL;

    if (!file)
        return;
    fprintf(file,
            "{\"to_device\": %lu, \"to_host\": %lu, \"within\": %lu, \"to_device_pageable\": %lu, "
            "\"to_host_pageable\": %lu, \"copies\": %lu, \"launches\": %lu, \"pins\": %lu, "
            "\"unpins\": %lu, "
            "\"pin_errors\": %lu, \"pinned\": %lu, \"most_pinned\": %lu, \"most_allocated\": %lu, "
            "\"errors\": %lu}\n",
            counts.to_device, counts.to_host, counts.within, counts.to_device_pageable,
            counts.to_host_pageable, counts.copies, counts.launches, counts.pins, counts.unpins,
            counts.pin_errors, counts.pinned, counts.most_pinned, counts.most_allocated,
            counts.errors);
    fclose(file);
}

static void raise_most(_Atomic unsigned long *most, unsigned long now)
{
    for (unsigned long was = *most; was < now && !atomic_compare_exchange_weak(most, &was, now);)
        ;
}

struct device *device_of(const void *address)
{
    for (int i = 0; i < count_devices; i++)
        if ((const char *)address >= devices[i].given &&
            (const char *)address < devices[i].given + memory)
            return &devices[i];
    return NULL;
}

EXPORT void *cudart_view(const void *address)
{
    const struct device *device = device_of(address);

    return device ? device->view + ((const char *)address - device->given)
                  : (void *)(uintptr_t)address;
}

static struct range **find_range(struct range **list, uintptr_t start, size_t size)
{
    for (; *list; list = &(*list)->next)
        if ((*list)->start < start + size && start < (*list)->start + (*list)->size)
            break;
    return list;
}

bool is_within(struct range **list, const void *start, size_t size)
{
    pthread_mutex_lock(&tables);
    const struct range *range = *find_range(list, (uintptr_t)start, 1);
    bool within = range && (uintptr_t)start + size <= range->start + range->size;
    pthread_mutex_unlock(&tables);
    return within;
}

CALL cudaMalloc(void **out, size_t size)
{
    struct device *device = &devices[current];
    struct range **at = &device->blocks, *block = malloc(sizeof(*block));
    uintptr_t start = (uintptr_t)device->given;

    if (is_child())
        return fail(cudaErrorInitializationError);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    pthread_mutex_lock(&tables);
    for (; *at && (*at)->start - start < size; at = &(*at)->next)
        start = (*at)->start + (*at)->size;
    bool fits = start + size <= (uintptr_t)device->given + memory;
    if (fits) {
        *block = (struct range){.start = start, .size = size, .next = *at};
        *at = block;
    }
    pthread_mutex_unlock(&tables);
    if (!fits) {
        free(block);
        return fail(cudaErrorMemoryAllocation);
    }
    *out = (void *)start;
    memset(cudart_view(*out), FRESH, size);
    raise_most(&counts.most_allocated, atomic_fetch_add(&counts.allocated, size) + size);
    return cudaSuccess;
}

CALL cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + ALIGN - 1) / ALIGN * ALIGN;
    return cudaMalloc(out, *pitch * height);
}

/* Takes the range that starts there out of the list; its size, or 0. */
static size_t take_range(struct range **list, const void *start, bool allocated)
{
    pthread_mutex_lock(&tables);
    struct range **at = find_range(list, (uintptr_t)start, 1), *range = *at;
    bool meant = range && range->start == (uintptr_t)start && range->allocated == allocated;
    size_t size = meant ? range->size : 0;
    if (meant) {
        *at = range->next;
        free(range);
    }
    pthread_mutex_unlock(&tables);
    return size;
}

CALL cudaFree(void *address)
{
    struct device *device = device_of(address);

    if (is_child())
        return fail(cudaErrorInitializationError);
    if (!address)
        return cudaSuccess;
    cudaDeviceSynchronize();
    size_t size = device ? take_range(&device->blocks, address, false) : 0;
    atomic_fetch_sub(&counts.allocated, size);
    return fail(size > 0 ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t pin(void *start, size_t size, bool allocated)
{
    struct range *range = malloc(sizeof(*range));

    *range = (struct range){.start = (uintptr_t)start, .size = size, .allocated = allocated};
    pthread_mutex_lock(&tables);
    bool is_new = !*find_range(&pinned, (uintptr_t)start, size);
    if (is_new) {
        range->next = pinned;
        pinned = range;
    }
    pthread_mutex_unlock(&tables);
    atomic_fetch_add(is_new ? &counts.pins : &counts.pin_errors, 1);
    if (!is_new) {
        free(range);
        return fail(cudaErrorHostMemoryAlreadyRegistered);
    }
    raise_most(&counts.most_pinned, atomic_fetch_add(&counts.pinned, size) + size);
    return cudaSuccess;
}

static cudaError_t unpin(void *start, bool allocated, cudaError_t otherwise)
{
    cudaDeviceSynchronize();
    size_t size = take_range(&pinned, start, allocated);
    atomic_fetch_add(size > 0 ? &counts.unpins : &counts.pin_errors, 1);
    atomic_fetch_sub(&counts.pinned, size);
    if (allocated && size > 0)
        munmap(start, size);
    return fail(size > 0 ? cudaSuccess : otherwise);
}

CALL cudaHostRegister(void *start, size_t size, unsigned flags)
{
    (void)flags;
    if (is_child())
        return fail(cudaErrorInitializationError);
    return size > 0 && start ? pin(start, size, false) : fail(cudaErrorInvalidValue);
}

CALL cudaHostUnregister(void *start)
{
    return unpin(start, false, cudaErrorHostMemoryNotRegistered);
}

/* A forked child does not have it. */
CALL cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    (void)flags;
    size = (size + 4095) / 4096 * 4096;
    *out = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (is_child() || *out == MAP_FAILED)
        return fail(cudaErrorMemoryAllocation);
    madvise(*out, size, MADV_DONTFORK);
    return pin(*out, size, true);
}

CALL cudaMallocHost(void **out, size_t size)
{
    return cudaHostAlloc(out, size, 0);
}

CALL cudaFreeHost(void *start)
{
    return start ? unpin(start, true, cudaErrorInvalidValue) : cudaSuccess;
}

CALL cudaHostGetDevicePointer(void **out, void *host, unsigned flags)
{
    (void)flags;
    *out = host;
    return fail(is_within(&pinned, host, 1) ? cudaSuccess : cudaErrorInvalidValue);
}

CALL cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *address)
{
    struct device *device = device_of(address);
    bool is_pinned = is_within(&pinned, address, 1);

    *out =
        (struct cudaPointerAttributes){.type = device      ? cudaMemoryTypeDevice
                                               : is_pinned ? cudaMemoryTypeHost
                                                           : cudaMemoryTypeUnregistered,
                                       .device = device ? (int)(device - devices) : 0,
                                       .devicePointer = (void *)(uintptr_t)address,
                                       .hostPointer = device ? NULL : (void *)(uintptr_t)address};
    return cudaSuccess;
}

CALL cudaMemGetInfo(size_t *unused, size_t *total)
{
    *total = memory;
    *unused = memory;
    pthread_mutex_lock(&tables);
    for (const struct range *block = devices[current].blocks; block; block = block->next)
        *unused -= block->size;
    pthread_mutex_unlock(&tables);
    return cudaSuccess;
}
