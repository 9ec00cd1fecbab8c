/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Vectors in files of HDF5: 0, or 1 if libhdf5 failed. */
#ifndef TIC_TESTS_LIB_H5WRITE_H
#define TIC_TESTS_LIB_H5WRITE_H

#include <stddef.h>

int h5_write(const char *file, const long *values, size_t count, int leave_open);
int h5_read(const char *file, long *values);

#endif
