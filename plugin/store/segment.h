/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segment and log files: HDF5 files made for rows, which any thread writes. Their user block tells
 * in text, under a checksum, where which rows are: a restart reads that, and libhdf5 never parses a
 * file that may be damaged. */
#pragma once

#include <stddef.h>

#include "store/h5.h"
#include "store/line.h"

/* Makes the file, with one dataset per extent; sets their offsets. Committing thread. Its
 * descriptor, for reading and writing, which is the caller's; or -errno: then there is no file. */
int tic_segment_create(int directory, const char *name, const struct tic_h5_ops *h5,
                       struct tic_line_extent *extents, size_t count);
/* The extents (malloc'ed) in the order of their datasets; `segment` in them is 0. 0; -EBADMSG when
 * it is not as it was made; other -errno. */
int tic_segment_read(int fd, struct tic_line_extent **extents, size_t *count);
