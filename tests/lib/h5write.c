/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests/lib/h5user.c does with HDF5. Native types are variables of libhdf5: a program that is
 * not compiled as position-independent code has them in its own memory (COPY relocations). */
#include "lib/h5write.h"

#include <hdf5.h>

int h5_write(const char *file, const long *values, size_t count, int leave_open)
{
    hsize_t size = count;
    hid_t out = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t set =
        H5Dcreate2(out, "values", H5T_NATIVE_LONG, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int status = H5Dwrite(set, H5T_NATIVE_LONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;

    if (leave_open) /* the exit handler of libhdf5 writes it */
        return status;
    H5Dclose(set);
    H5Sclose(space);
    return status || H5Fclose(out) < 0;
}

int h5_read(const char *file, long *values)
{
    hid_t in = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(in, "values", H5P_DEFAULT);
    int status = H5Dread(set, H5T_NATIVE_LONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;

    H5Dclose(set);
    return H5Fclose(in) < 0 || status;
}
