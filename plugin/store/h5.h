/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that needs libhdf5, behind one table, so that the plug-in can load it as an object of its
 * own whose libhdf5 does not clash with one that the application uses. One thread at a time. */
#ifndef TIC_STORE_H5_H
#define TIC_STORE_H5_H

#include <stddef.h>

#include "store/line.h"

/* Functions return 0 or a negative errno; -EIO for anything HDF5 refuses. */
struct tic_h5_ops {
    /* Fills the empty file `path`: `header` bytes of user block, a power of two of 512 or more,
     * then one contiguous, allocated, unfilled dataset per extent; sets offsets, which count from
     * the start of the file. */
    int (*segment_format)(const char *path, size_t header, struct tic_line_extent *extents,
                          size_t count);
    /* The HDF5 image of a line (malloc'ed), and back. Decode trusts nothing it reads. */
    int (*line_encode)(const struct tic_line *line, void **image, size_t *size);
    int (*line_decode)(const void *image, size_t size, struct tic_line *line);
};

#define TIC_H5_OPS_SYMBOL "tic_h5_ops"
extern const struct tic_h5_ops tic_h5_ops;

#endif
