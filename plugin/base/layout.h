/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a piece of data lies in memory, and its packed copy: runs, gather, scatter, checksum. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TIC_MAX_DIMS 4

/* What is stored: ndim dimensions, dims[0] the fastest; elements of element_size bytes. */
struct tic_shape {
    uint32_t element_size;
    uint32_t ndim;               /* 1..TIC_MAX_DIMS */
    uint64_t dims[TIC_MAX_DIMS]; /* elements; 1 beyond ndim */
    uint64_t type;               /* of the elements, as declared: types.h */
};

/* Where it is: element (i, j, k) at base + (i + j * stride[1] + k * stride[2] ...) elements. */
struct tic_layout {
    struct tic_shape shape;
    char *base;
    uint64_t stride[TIC_MAX_DIMS]; /* in elements; stride[0] == 1 */
    bool unsteady;                 /* some of it may change while it is written to a file */
    const _Atomic bool *stop;      /* ends tic_layout_pack and tic_layout_write with -EINTR when it
                                      is set; or NULL */
};

/* The layout of a value without gaps. */
struct tic_layout tic_layout_packed(const struct tic_shape *shape, char *bytes);

/* Whatever the types. */
bool tic_shape_equal(const struct tic_shape *a, const struct tic_shape *b);
/* With the types: rows of a segment have one. */
bool tic_shape_same(const struct tic_shape *a, const struct tic_shape *b);
uint64_t tic_shape_bytes(const struct tic_shape *shape);

/* XXH3-64 of the packed bytes. */
uint64_t tic_layout_checksum(const struct tic_layout *layout);
/* The same, of memory that the program may give back meanwhile: false then, between
 * tic_faults_begin and end (fault.h). */
bool tic_layout_checksum_there(const struct tic_layout *layout, uint64_t *sum);
/* Packs such memory, and gives the checksum of the copy: one pass over the bytes. 0; -EFAULT;
 * -EINTR. */
int tic_layout_pack(const struct tic_layout *from, char *to, uint64_t *checksum);

/* Write all packed bytes at `offset` of `fd`, or read them back; *checksum is theirs, also if
 * others change an unsteady layout meanwhile. 0 or -errno. */
int tic_layout_write(const struct tic_layout *layout, int fd, off_t offset, uint64_t *checksum);
int tic_layout_read(const struct tic_layout *layout, int fd, off_t offset, uint64_t *checksum);

/* Are the bytes at `offset` of `fd` the packed ones? False also if they cannot be read. */
bool tic_layout_equals(const struct tic_layout *layout, int fd, off_t offset);
/* A hash of the shape and of some of the bytes. */
uint64_t tic_layout_sample(const struct tic_layout *layout);

/* Bytes from the first to after the last one. */
uint64_t tic_layout_span(const struct tic_layout *layout);

/* Is there memory? False for what the program has unmapped meanwhile. */
bool tic_layout_is_mapped(const struct tic_layout *layout);
/* False if its first or last byte is known not to be (mprotect). */
bool tic_layout_is_writable(const struct tic_layout *layout);

/* Calls `visit` for each contiguous run, all of `bytes` bytes, until it returns nonzero; this it
 * returns. */
int tic_layout_visit(const struct tic_layout *layout,
                     int (*visit)(char *run, uint64_t bytes, void *arg), void *arg);

/* Do they have a byte in common? */
bool tic_layout_overlaps(const struct tic_layout *a, const struct tic_layout *b);

/* Do two layouts of as many bytes hold the same? */
bool tic_layout_same(const struct tic_layout *a, const struct tic_layout *b);

/* Copies between layouts of equal shape. */
void tic_layout_copy(const struct tic_layout *to, const struct tic_layout *from);
