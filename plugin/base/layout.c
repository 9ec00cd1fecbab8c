/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a piece of data lies in memory, and its packed copy: runs, gather, scatter, checksum. */
#include "base/layout.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY /* the streaming state on the stack needs its definition */
#include <xxhash.h>

#include "base/apart.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/transfer.h"
#ifdef HAVE_XXH3_64BITS_UPDATE_DISPATCH
#include <xxh_x86dispatch.h>
#endif

/* What is hashed is moved while it is still in cache. */
enum { RUNS_PER_CALL = TIC_IO_PIECES, BYTES_PER_CALL = 1 << 18, COMPARE_BYTES = TIC_IO_PER_READ };

/* Walks the contiguous runs of a layout, the fastest dimension first. */
struct run_cursor {
    const struct tic_layout *layout;
    size_t run_bytes;
    unsigned first_dim; /* dimensions below it are part of a run */
    uint64_t index[TIC_MAX_DIMS];
    bool done;
};

static void cursor_begin(struct run_cursor *cursor, const struct tic_layout *layout)
{
    const struct tic_shape *shape = &layout->shape;
    uint64_t run = shape->dims[0];
    unsigned dim = 1;

    while (dim < shape->ndim && layout->stride[dim] == run) {
        run *= shape->dims[dim];
        dim++;
    }
    memset(cursor, 0, sizeof(*cursor));
    cursor->layout = layout;
    cursor->run_bytes = run * shape->element_size;
    cursor->first_dim = dim;
    cursor->done = tic_shape_bytes(shape) == 0;
}

static char *cursor_next(struct run_cursor *cursor)
{
    const struct tic_layout *layout = cursor->layout;
    uint64_t offset = 0;

    if (cursor->done)
        return NULL;
    for (unsigned dim = cursor->first_dim; dim < layout->shape.ndim; dim++)
        offset += cursor->index[dim] * layout->stride[dim];
    unsigned dim = cursor->first_dim;
    while (dim < layout->shape.ndim && ++cursor->index[dim] == layout->shape.dims[dim])
        cursor->index[dim++] = 0;
    cursor->done = dim >= layout->shape.ndim;
    return layout->base + offset * layout->shape.element_size;
}

int tic_layout_visit(const struct tic_layout *layout,
                     int (*visit)(char *run, uint64_t bytes, void *arg), void *arg)
{
    struct run_cursor cursor;
    int status = 0;
    char *run;

    cursor_begin(&cursor, layout);
    while (status == 0 && (run = cursor_next(&cursor)))
        status = visit(run, cursor.run_bytes, arg);
    return status;
}

bool tic_shape_equal(const struct tic_shape *a, const struct tic_shape *b)
{
    return a->element_size == b->element_size && a->ndim == b->ndim &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0;
}

bool tic_shape_same(const struct tic_shape *a, const struct tic_shape *b)
{
    return a->type == b->type && tic_shape_equal(a, b);
}

uint64_t tic_shape_bytes(const struct tic_shape *shape)
{
    uint64_t bytes = shape->element_size;
    for (unsigned dim = 0; dim < shape->ndim; dim++)
        bytes *= shape->dims[dim];
    return bytes;
}

uint64_t tic_layout_span(const struct tic_layout *layout)
{
    uint64_t last = 0;

    if (tic_shape_bytes(&layout->shape) == 0)
        return 0;
    for (unsigned dim = 0; dim < layout->shape.ndim; dim++)
        last += (layout->shape.dims[dim] - 1) * layout->stride[dim];
    return (last + 1) * layout->shape.element_size;
}

bool tic_layout_is_mapped(const struct tic_layout *layout)
{
    enum { PAGES_AT_ONCE = 4096 };
    unsigned char there[PAGES_AT_ONCE];
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)layout->base / page * page;
    uintptr_t end = (uintptr_t)layout->base + tic_layout_span(layout);

    for (; at < end; at += PAGES_AT_ONCE * page) {
        uintptr_t bytes = end - at < PAGES_AT_ONCE * page ? end - at : PAGES_AT_ONCE * page;
        if (mincore((void *)at, bytes, there) != 0 && errno == ENOMEM)
            return false;
    }
    return true;
}

/* The kernel writes a byte over itself. */
static bool is_writable(char *byte)
{
    struct iovec itself = {byte, 1};

    return process_vm_readv(getpid(), &itself, 1, &itself, 1, 0) >= 0 || errno != EFAULT;
}

bool tic_layout_is_writable(const struct tic_layout *layout)
{
    uint64_t span = tic_layout_span(layout);

    return span == 0 || (is_writable(layout->base) && is_writable(layout->base + span - 1));
}

struct tic_layout tic_layout_packed(const struct tic_shape *shape, char *bytes)
{
    struct tic_layout packed = {.shape = *shape, .base = bytes};
    uint64_t stride = 1;

    for (unsigned i = 0; i < shape->ndim; i++) {
        packed.stride[i] = stride;
        stride *= shape->dims[i];
    }
    return packed;
}

bool tic_layout_overlaps(const struct tic_layout *a, const struct tic_layout *b)
{
    struct run_cursor x, y;

    cursor_begin(&x, a);
    cursor_begin(&y, b);
    char *p = cursor_next(&x), *q = cursor_next(&y); /* runs come by ascending address */
    while (p && q) {
        if (p + x.run_bytes <= q)
            p = cursor_next(&x);
        else if (q + y.run_bytes <= p)
            q = cursor_next(&y);
        else
            return true;
    }
    return false;
}

uint64_t tic_layout_checksum(const struct tic_layout *layout)
{
    struct run_cursor cursor;
    XXH3_state_t state;
    char *run;

    cursor_begin(&cursor, layout);
    XXH3_64bits_reset(&state);
    while ((run = cursor_next(&cursor)))
        XXH3_64bits_update(&state, run, cursor.run_bytes);
    return XXH3_64bits_digest(&state);
}

/* ---- of memory that may go meanwhile -------------------------------------------------------- */

struct checksum {
    const struct tic_layout *layout;
    uint64_t sum;
};

static void take_checksum(void *arg)
{
    struct checksum *checksum = arg;

    checksum->sum = tic_layout_checksum(checksum->layout);
}

bool tic_layout_checksum_there(const struct tic_layout *layout, uint64_t *sum)
{
    struct checksum checksum = {layout, 0};
    bool is_there = tic_fault_try(take_checksum, &checksum);

    *sum = checksum.sum;
    return is_there;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Pieces of a layout that one call moves. */
struct batch {
    struct run_cursor cursor;
    char *run; /* what is left of a run */
    size_t left;
    int count;
    size_t bytes; /* of all pieces */
    struct iovec pieces[RUNS_PER_CALL];
};

static void batch_begin(struct batch *batch, const struct tic_layout *layout)
{
    cursor_begin(&batch->cursor, layout);
    batch->left = 0;
}

/* False when there is nothing more to move. */
static bool batch_fill(struct batch *batch)
{
    size_t room = BYTES_PER_CALL;

    for (batch->count = 0; batch->count < RUNS_PER_CALL && room > 0; batch->count++) {
        if (batch->left == 0) {
            batch->run = cursor_next(&batch->cursor);
            if (!batch->run)
                break;
            batch->left = batch->cursor.run_bytes;
        }
        size_t bytes = batch->left < room ? batch->left : room;
        batch->pieces[batch->count] = (struct iovec){.iov_base = batch->run, .iov_len = bytes};
        batch->run += bytes;
        batch->left -= bytes;
        room -= bytes;
    }
    batch->bytes = BYTES_PER_CALL - room;
    return batch->count > 0;
}

static void hash_batch(XXH3_state_t *state, const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        XXH3_64bits_update(state, batch->pieces[i].iov_base, batch->pieces[i].iov_len);
}

/* What the batch holds, in one piece that does not change any more. */
static void freeze(struct batch *batch, char *buffer)
{
    size_t size = 0;

    for (int i = 0; i < batch->count; i++) {
        memcpy(buffer + size, batch->pieces[i].iov_base, batch->pieces[i].iov_len);
        size += batch->pieces[i].iov_len;
    }
    batch->count = 1;
    batch->pieces[0] = (struct iovec){.iov_base = buffer, .iov_len = size};
}

struct taking {
    struct batch batch;
    char *buffer; /* or NULL */
    XXH3_state_t state;
};

static void take_batch(void *arg)
{
    struct taking *taking = arg;

    if (taking->buffer)
        freeze(&taking->batch, taking->buffer);
    hash_batch(&taking->state, &taking->batch);
}

static bool is_stopped(const struct tic_layout *layout)
{
    return layout->stop && atomic_load_explicit(layout->stop, memory_order_relaxed);
}

int tic_layout_pack(const struct tic_layout *from, char *to, uint64_t *checksum)
{
    struct taking taking = {.buffer = to};
    int status = 0;

    batch_begin(&taking.batch, from);
    XXH3_64bits_reset(&taking.state);
    while (status == 0 && batch_fill(&taking.batch)) {
        if (is_stopped(from))
            status = -EINTR;
        else if (!tic_fault_try(take_batch, &taking))
            status = -EFAULT;
        taking.buffer += taking.batch.bytes;
    }
    *checksum = XXH3_64bits_digest(&taking.state);
    return status;
}

int tic_layout_write(const struct tic_layout *layout, int fd, off_t offset, uint64_t *checksum)
{
    char *buffer = layout->unsteady ? malloc(BYTES_PER_CALL) : NULL;
    struct taking taking;
    int status = layout->unsteady && !buffer ? -ENOMEM : 0;

    taking.buffer = buffer;
    batch_begin(&taking.batch, layout);
    XXH3_64bits_reset(&taking.state);
    while (status == 0 && batch_fill(&taking.batch)) {
        status = is_stopped(layout) ? -EINTR
                 : tic_fault_try(take_batch, &taking)
                     ? tic_io_write(fd, taking.batch.pieces, taking.batch.count, (uint64_t)offset)
                     : -EFAULT;
        offset += (off_t)taking.batch.bytes;
    }
    *checksum = XXH3_64bits_digest(&taking.state);
    free(buffer); /* a write that hangs may still read it: what comes of that is of no use */
    return status;
}

struct reading {
    const struct tic_layout *layout;
    int fd;
    off_t offset;
    uint64_t checksum;
    int status;
};

static void read_apart(void *arg)
{
    struct reading *reading = arg;
    struct batch batch;
    struct iovec pieces[RUNS_PER_CALL];
    XXH3_state_t state;

    batch_begin(&batch, reading->layout);
    XXH3_64bits_reset(&state);
    while (reading->status == 0 && batch_fill(&batch)) {
        memcpy(pieces, batch.pieces, (size_t)batch.count * sizeof(*pieces));
        reading->status =
            tic_transfer_read_all(reading->fd, pieces, batch.count, (uint64_t)reading->offset);
        reading->offset += (off_t)batch.bytes;
        hash_batch(&state, &batch);
    }
    reading->checksum = XXH3_64bits_digest(&state);
}

int tic_layout_read(const struct tic_layout *layout, int fd, off_t offset, uint64_t *checksum)
{
    struct reading reading = {.layout = layout, .fd = fd, .offset = offset};

    tic_apart_call(read_apart, &reading);
    *checksum = reading.checksum;
    return reading.status;
}

/* The file from `offset` on, a piece at a time. */
struct reader {
    int fd;
    off_t offset; /* of what comes after the buffer */
    size_t at, end;
    char buffer[COMPARE_BYTES];
};

static bool refill(struct reader *reader, size_t most)
{
    ssize_t got =
        tic_io_read(reader->fd, reader->buffer, most < COMPARE_BYTES ? most : COMPARE_BYTES,
                    (uint64_t)reader->offset);

    if (got <= 0)
        return false;
    reader->offset += got;
    reader->at = 0;
    reader->end = (size_t)got;
    return true;
}

/* left: bytes of the whole value that are not compared yet. */
static bool equals(struct reader *reader, const char *run, size_t bytes, uint64_t left)
{
    while (bytes > 0) {
        if (reader->at == reader->end && !refill(reader, left))
            return false;
        size_t piece = reader->end - reader->at;
        piece = piece < bytes ? piece : bytes;
        if (memcmp(run, reader->buffer + reader->at, piece) != 0)
            return false;
        reader->at += piece;
        run += piece;
        bytes -= piece;
        left -= piece;
    }
    return true;
}

bool tic_layout_equals(const struct tic_layout *layout, int fd, off_t offset)
{
    struct reader reader = {.fd = fd, .offset = offset};
    uint64_t left = tic_shape_bytes(&layout->shape);
    struct run_cursor cursor;
    bool same = true;
    char *run;

    cursor_begin(&cursor, layout);
    while (same && (run = cursor_next(&cursor))) {
        same = equals(&reader, run, cursor.run_bytes, left);
        left -= cursor.run_bytes;
    }
    return same && left == 0;
}

uint64_t tic_layout_sample(const struct tic_layout *layout)
{
    enum { RUNS = 16, BYTES = 64 };
    struct run_cursor cursor;
    uint64_t hash = XXH3_64bits(&layout->shape, sizeof(layout->shape));
    char *run;

    cursor_begin(&cursor, layout);
    for (int i = 0; i < RUNS && (run = cursor_next(&cursor)); i++) {
        size_t bytes = cursor.run_bytes < BYTES ? cursor.run_bytes : BYTES;
        hash = XXH3_64bits_withSeed(run, bytes, hash);
        hash = XXH3_64bits_withSeed(run + cursor.run_bytes / 2, bytes / 2, hash);
        hash = XXH3_64bits_withSeed(run + cursor.run_bytes - bytes, bytes, hash);
    }
    return hash;
}

/* Calls visit for the pieces that both have in one run each, until it returns false. */
static bool walk_both(const struct tic_layout *a, const struct tic_layout *b,
                      bool (*visit)(char *x, char *y, size_t bytes))
{
    struct run_cursor first, second;
    bool go_on = true;

    cursor_begin(&first, a);
    cursor_begin(&second, b);
    char *x = cursor_next(&first), *y = cursor_next(&second);
    size_t left_x = first.run_bytes, left_y = second.run_bytes;
    while (go_on && x && y) { /* their runs may differ in length */
        size_t bytes = left_x < left_y ? left_x : left_y;
        go_on = visit(x, y, bytes);
        x += bytes;
        y += bytes;
        left_x -= bytes;
        left_y -= bytes;
        if (left_x == 0) {
            x = cursor_next(&first);
            left_x = first.run_bytes;
        }
        if (left_y == 0) {
            y = cursor_next(&second);
            left_y = second.run_bytes;
        }
    }
    return go_on;
}

static bool copy_piece(char *to, char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

static bool is_same_piece(char *x, char *y, size_t bytes)
{
    return memcmp(x, y, bytes) == 0;
}

bool tic_layout_same(const struct tic_layout *a, const struct tic_layout *b)
{
    return walk_both(a, b, is_same_piece);
}

void tic_layout_copy(const struct tic_layout *to, const struct tic_layout *from)
{
    walk_both(to, from, copy_piece);
}
