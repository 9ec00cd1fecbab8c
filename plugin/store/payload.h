/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of one row: as they are, or compressed as HDF5's filters shuffle and deflate do. Which,
 * and how many there are then, HDF5 and we read from the same place: the key of the row's chunk.
 * Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/h5.h"

/* Rows of fewer bytes are not compressed: on the disk they would not take less. */
enum { TIC_COMPRESS_LEAST = 16384 };

/* The key of a chunk as a version 1 B-tree of HDF5 has it, from which the child follows. */
struct tic_chunk_key {
    uint32_t bytes;   /* that the chunk takes in the file; little-endian, as all of HDF5 */
    uint32_t skipped; /* bit i: filter i was not applied */
};
enum { TIC_CHUNK_PLAIN = 3 }; /* skipped: neither shuffle nor deflate was applied */
/* Bytes from the key of one row to the next: the key with an offset for each dimension (row,
 * dimensions of the element, bytes of one), and the address. */
static inline uint64_t tic_chunk_key_stride(uint32_t ndim)
{
    return sizeof(struct tic_chunk_key) + UINT64_C(8) * (ndim + 2) + 8;
}

/* Where the bytes of a row are. */
struct tic_place {
    int fd;
    int64_t offset;
    int64_t key;            /* offset of its key; 0: it has none, and is never compressed */
    struct tic_shape shape; /* of the row */
};

/* The place of this row, which must be one, in the file of its segment. */
struct tic_place tic_payload_place(const struct tic_line_extent *extent, uint32_t row, int fd);

/* How to write: at level 0 as they are, at 1 to 9 compressed, if that makes them less, the row has
 * a key, and *stop does not become true meanwhile. */
struct tic_compression {
    int level;
    const _Atomic bool *stop;
};

/* Writes all packed bytes. *checksum is theirs, *written how many bytes that made. 0 or -errno. */
int tic_payload_write(const struct tic_h5_ops *h5, const struct tic_place *place,
                      const struct tic_layout *layout, struct tic_compression how,
                      uint64_t *checksum, uint64_t *written);
/* Reads them back. 0; -EBADMSG when they cannot be what was written; -ENODATA when the file is too
 * short; other -errno. */
int tic_payload_read(const struct tic_h5_ops *h5, const struct tic_place *place,
                     const struct tic_layout *layout, uint64_t *checksum);
/* Are they those with this checksum? 0; -EBADMSG; other -errno. */
int tic_payload_check(const struct tic_h5_ops *h5, const struct tic_place *place,
                      uint64_t checksum);
/* Are they the packed bytes of the layout? False also if they cannot be read. */
bool tic_payload_equals(const struct tic_h5_ops *h5, const struct tic_place *place,
                        const struct tic_layout *layout);
/* How many bytes of the row there are in the file, and *key what tells so. 0 or -errno. */
int tic_payload_size(const struct tic_place *place, struct tic_chunk_key *key, uint64_t *bytes);
