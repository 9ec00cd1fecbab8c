/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that needs libhdf5 or libz, behind one table, so that the plug-in can load it as an object of
 * its own whose libraries do not clash with those that the application uses. One thread at a time,
 * but for deflate and inflate. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "store/line.h"

/* DEAD: its variables are not those that we see. RACES: the program may call it at any time. */
enum tic_h5_trouble { TIC_H5_FINE, TIC_H5_DEAD, TIC_H5_RACES };

/* Functions return 0 or a negative errno: -ELIBBAD for anything HDF5 refuses to write, -EIO for
 * what it cannot read. */
struct tic_h5_ops {
    enum tic_h5_trouble (*trouble)(void); /* why HDF5 cannot be used in this process */
    /* Fills the empty file `path`: `header` bytes of user block, a power of two of 512 or more,
     * then one contiguous, allocated, unfilled dataset per extent; sets offsets, which count from
     * the start of the file. An extent whose `keys` is not 0 gets a dataset of chunks, too, one for
     * each row, and `keys` is then what HDF5 says is the address of the first. */
    int (*segment_format)(const char *path, size_t header, struct tic_line_extent *extents,
                          size_t count);
    /* The HDF5 image of a line (malloc'ed), and back. Decode trusts nothing it reads. */
    int (*line_encode)(const struct tic_line *line, void **image, size_t *size);
    int (*line_decode)(const void *image, size_t size, struct tic_line *line);
    /* What HDF5's filter deflate makes of `size` bytes, *written of them, at most as many as that
     * is before: else -E2BIG, as when *stop becomes true. And back: -EBADMSG when it does not give
     * `size` bytes. Or -ENOMEM. Any thread. */
    int (*deflate)(const void *bytes, size_t size, int level, void *to, size_t *written,
                   const _Atomic bool *stop);
    int (*inflate)(const void *from, size_t length, void *bytes, size_t size);
};

#define TIC_H5_OPS_SYMBOL "tic_h5_ops"
extern const struct tic_h5_ops tic_h5_ops;
