/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-in for CUDA's runtime library: streams, events and copies. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

struct CUevent_st {
    _Atomic unsigned long wanted, done;
    atomic_uint asked;
    struct CUstream_st *stream;
};

static void copy(const struct op *op)
{
    for (size_t z = 0; z < op->depth; z++)
        for (size_t y = 0; y < op->height; y++) {
            char *to = (char *)cudart_view(op->to) + z * op->to_slice + y * op->to_pitch;
            if (op->from)
                memmove(to, (char *)cudart_view(op->from) + z * op->from_slice + y * op->from_pitch,
                        op->width);
            else
                memset(to, op->value, op->width);
        }
}

static void finish(struct op *op)
{
    if (op->run)
        op->run(op->args, op->grid, op->block);
    else if (op->call)
        op->call(op->call_arg);
    else if (op->event)
        atomic_store(&op->event->done, op->serial);
    else
        copy(op);
    free(op->args);
    free(op);
}

/* Does what is on it, up to an event or all. */
void drain(struct CUstream_st *stream, struct CUevent_st *event)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->first && !(event && event->done == event->wanted)) {
        struct op *op = stream->first;
        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        finish(op);
    }
    stream->asked = 0;
    pthread_mutex_unlock(&stream->lock);
}

/* All streams of the device; or those that the default one waits for. */
static void drain_device(int device, bool only_blocking)
{
    pthread_mutex_lock(&tables);
    for (struct CUstream_st *stream = streams; stream; stream = stream->next)
        if (stream->device == device && (stream->blocking || !only_blocking))
            drain(stream, NULL);
    pthread_mutex_unlock(&tables);
}

struct CUstream_st *real_stream(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread
               ? &devices[current].null
               : stream;
}

void put(cudaStream_t named, const struct op *what)
{
    struct CUstream_st *stream = real_stream(named);
    struct op *op = malloc(sizeof(*op));

    if (stream == &devices[stream->device].null)
        drain_device(stream->device, true);
    else if (stream->blocking)
        drain(&devices[stream->device].null, NULL);
    *op = *what;
    op->next = NULL;
    pthread_mutex_lock(&stream->lock);
    *stream->last = op;
    stream->last = &op->next;
    pthread_mutex_unlock(&stream->lock);
}

CALL cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));

    if (is_child())
        return fail(cudaErrorInitializationError);
    *stream = (struct CUstream_st){
        .last = &stream->first, .device = current, .blocking = !(flags & cudaStreamNonBlocking)};
    pthread_mutex_init(&stream->lock, NULL);
    pthread_mutex_lock(&tables);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&tables);
    *out = stream;
    return cudaSuccess;
}

CALL cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, 0);
}

CALL cudaStreamDestroy(cudaStream_t stream)
{
    struct CUstream_st **at = &streams;

    drain(stream, NULL);
    pthread_mutex_lock(&tables);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&tables);
    free(stream);
    return cudaSuccess;
}

CALL cudaStreamSynchronize(cudaStream_t stream)
{
    if (is_child())
        return fail(cudaErrorInitializationError);
    drain(real_stream(stream), NULL);
    return cudaSuccess;
}

CALL cudaStreamQuery(cudaStream_t named)
{
    struct CUstream_st *stream = real_stream(named);

    pthread_mutex_lock(&stream->lock);
    bool waits = stream->first && ++stream->asked < late;
    pthread_mutex_unlock(&stream->lock);
    if (waits)
        return cudaErrorNotReady;
    drain(stream, NULL);
    return cudaSuccess;
}

CALL cudaDeviceSynchronize(void)
{
    if (is_child())
        return fail(cudaErrorInitializationError);
    drain_device(current, false);
    return cudaSuccess;
}

CALL cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof(**out));
    return cudaSuccess;
}

CALL cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, 0);
}

CALL cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->stream = real_stream(stream);
    event->asked = 0;
    unsigned long serial = ++event->wanted;
    put(event->stream, &(struct op){.event = event, .serial = serial});
    return cudaSuccess;
}

CALL cudaEventSynchronize(cudaEvent_t event)
{
    if (event->done != event->wanted)
        drain(event->stream, event);
    return cudaSuccess;
}

CALL cudaEventQuery(cudaEvent_t event)
{
    if (is_child())
        return fail(cudaErrorInitializationError);
    if (event->done != event->wanted && atomic_fetch_add(&event->asked, 1) + 1 < late)
        return cudaErrorNotReady;
    return cudaEventSynchronize(event);
}

CALL cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)stream, (void)flags;
    return cudaEventSynchronize(event);
}

CALL cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop)
{
    (void)start, (void)stop;
    *ms = 1;
    return cudaSuccess;
}

CALL cudaEventDestroy(cudaEvent_t event)
{
    cudaEventSynchronize(event);
    free(event);
    return cudaSuccess;
}

CALL cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void *arg)
{
    put(stream, &(struct op){.call = call, .call_arg = arg});
    return cudaSuccess;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static size_t reach(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

/* Copies of pageable memory are done at once: what the host has there may change after the call. */
static cudaError_t put_copy(const struct op *op, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool wait)
{
    struct device *to = device_of(op->to), *from = device_of(op->from);
    size_t bytes = op->width * op->height * op->depth,
           to_reach = reach(op->width, op->height, op->depth, op->to_pitch, op->to_slice),
           from_reach = reach(op->width, op->height, op->depth, op->from_pitch, op->from_slice);

    if (is_child())
        return fail(cudaErrorInitializationError);
    if (bytes == 0)
        return cudaSuccess;
    bool told = kind == cudaMemcpyDefault || (to != NULL) == (kind == cudaMemcpyHostToDevice ||
                                                              kind == cudaMemcpyDeviceToDevice);
    if (op->from && kind != cudaMemcpyDefault)
        told = told && (from != NULL) ==
                           (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice);
    if (!told || (to && !is_within(&to->blocks, op->to, to_reach)) ||
        (from && !is_within(&from->blocks, op->from, from_reach)))
        return fail(cudaErrorInvalidValue);
    bool pageable = (!to && !is_within(&pinned, op->to, to_reach)) ||
                    (op->from && !from && !is_within(&pinned, op->from, from_reach));
    if (op->from) {
        atomic_fetch_add(to && from ? &counts.within
                         : to       ? &counts.to_device
                                    : &counts.to_host,
                         bytes);
        if (pageable && to != from)
            atomic_fetch_add(to ? &counts.to_device_pageable : &counts.to_host_pageable, bytes);
        atomic_fetch_add(&counts.copies, 1);
    }
    put(stream, op);
    if (wait || pageable)
        drain(real_stream(stream), NULL);
    return cudaSuccess;
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind,
                             cudaStream_t stream, bool wait)
{
    return put_copy(&(struct op){.to = to,
                                 .from = from,
                                 .width = width,
                                 .height = height,
                                 .depth = 1,
                                 .to_pitch = to_pitch,
                                 .from_pitch = from_pitch},
                    kind, stream, wait);
}

CALL cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    return copy_rows(to, 0, from, 0, size, 1, kind, NULL, true);
}

CALL cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                     cudaStream_t stream)
{
    return copy_rows(to, 0, from, 0, size, 1, kind, stream, false);
}

CALL cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                  size_t height, enum cudaMemcpyKind kind)
{
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, NULL, true);
}

CALL cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}

CALL cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    (void)to_device, (void)from_device;
    return copy_rows(to, 0, from, 0, size, 1, cudaMemcpyDefault, NULL, true);
}

CALL cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                         cudaStream_t stream)
{
    (void)to_device, (void)from_device;
    return copy_rows(to, 0, from, 0, size, 1, cudaMemcpyDefault, stream, false);
}

/* Between pitched pointers only. */
static cudaError_t copy_box(struct cudaPitchedPtr to, struct cudaPos to_at,
                            struct cudaPitchedPtr from, struct cudaPos from_at,
                            struct cudaExtent extent, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool wait)
{
    struct op op = {.width = extent.width,
                    .height = extent.height,
                    .depth = extent.depth,
                    .to_pitch = to.pitch,
                    .to_slice = to.pitch * to.ysize,
                    .from_pitch = from.pitch,
                    .from_slice = from.pitch * from.ysize};

    op.to = (char *)to.ptr + to_at.z * op.to_slice + to_at.y * op.to_pitch + to_at.x;
    op.from = (char *)from.ptr + from_at.z * op.from_slice + from_at.y * op.from_pitch + from_at.x;
    return put_copy(&op, kind, stream, wait);
}

CALL cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_box(p->dstPtr, p->dstPos, p->srcPtr, p->srcPos, p->extent, p->kind, NULL, true);
}

CALL cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_box(p->dstPtr, p->dstPos, p->srcPtr, p->srcPos, p->extent, p->kind, stream, false);
}

CALL cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return copy_box(p->dstPtr, p->dstPos, p->srcPtr, p->srcPos, p->extent, cudaMemcpyDefault, NULL,
                    true);
}

CALL cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_box(p->dstPtr, p->dstPos, p->srcPtr, p->srcPos, p->extent, cudaMemcpyDefault,
                    stream, false);
}

static cudaError_t set(void *to, int value, size_t size, cudaStream_t stream, bool wait)
{
    return put_copy(&(struct op){.to = to, .value = value, .width = size, .height = 1, .depth = 1},
                    cudaMemcpyDefault, stream, wait);
}

CALL cudaMemset(void *to, int value, size_t size)
{
    return set(to, value, size, NULL, true);
}

CALL cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream)
{
    return set(to, value, size, stream, false);
}
