/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Line files: a checked text header (an HDF5 user block) before an HDF5 image. */
#pragma once

#include <stdbool.h>

#include "store/h5.h"
#include "store/line.h"

/* Writes a complete new file `name` in the directory and, if sync, forces it to the disk.
 * 0 or -errno; the file may be left behind on error. */
int tic_linefile_write(int directory, const char *name, const struct tic_h5_ops *h5,
                       const struct tic_line *line, bool sync);

/* Reads and checks one: header, size and checksum before any byte reaches HDF5, then indices.
 * 0; -EBADMSG damaged; -EPROTONOSUPPORT another major format, older or newer; -ENOTSUP written
 * by a machine of the other byte order; other -errno. */
int tic_linefile_read(int directory, const char *name, const struct tic_h5_ops *h5,
                      struct tic_line *line);
/* The bytes of one (malloc'ed), header, size and checksum checked. 0 or -errno as above. */
int tic_linefile_load(int directory, const char *name, char **bytes, size_t *size);
/* What is wrong with it, in words; NULL: nothing. */
const char *tic_linefile_explain(int directory, const char *name, const struct tic_h5_ops *h5);
