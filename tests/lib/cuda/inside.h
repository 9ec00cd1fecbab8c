/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the stand-in for CUDA's runtime library share (memory.c tells what it is). */
#ifndef CUDART_INSIDE_H
#define CUDART_INSIDE_H
#include "cudart.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL EXPORT cudaError_t

enum { MOST_DEVICES = 8 };

/* Something that is to be done on a stream: reach an event, run a kernel, call a function, or copy.
 */
struct op {
    struct op *next;
    struct CUevent_st *event;
    unsigned long serial; /* of the event */
    cudart_kernel run;
    dim3 grid, block;
    void **args;
    cudaHostFn_t call;
    void *call_arg, *to;
    const void *from; /* NULL: value */
    int value;
    size_t width, height, depth, to_pitch, to_slice, from_pitch, from_slice;
};

struct CUstream_st {
    pthread_mutex_t lock; /* of the three below; held while its operations are done */
    struct op *first, **last;
    unsigned asked;
    int device;
    bool blocking;
    struct CUstream_st *next; /* under tables */
};

struct range {
    uintptr_t start, size;
    bool allocated; /* by us: not only registered */
    struct range *next;
};

struct device {
    char *given, *view;   /* twice the same memory: what programs see, and what can be used */
    struct range *blocks; /* by address, under tables */
    struct CUstream_st null;
};

struct cudart_counts {
    _Atomic unsigned long to_device, to_host, within, to_device_pageable, to_host_pageable, copies,
        launches, pins, unpins, pin_errors, pinned, most_pinned, allocated, most_allocated, errors;
};

#pragma GCC visibility push(hidden)
extern struct device devices[MOST_DEVICES];
extern int count_devices;
extern size_t memory; /* of each */
extern unsigned late;
extern pthread_mutex_t tables; /* before those of streams */
extern struct CUstream_st *streams;
extern struct range *pinned;
extern struct cudart_counts counts;
extern __thread int current;
extern __thread cudaError_t last_error;

cudaError_t fail(cudaError_t error);
bool is_child(void); /* what CUDA has is not for it */
struct device *device_of(const void *address);
bool is_within(struct range **list, const void *start, size_t size);
struct CUstream_st *real_stream(cudaStream_t stream);
void put(cudaStream_t stream, const struct op *op);
void drain(struct CUstream_st *stream, struct CUevent_st *event);
#pragma GCC visibility pop
#endif
