/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A value of a recovery line as a file that other programs read: .npy, .txt, .h5. */
#ifndef TIC_TOOLS_VALUE_FILE_H
#define TIC_TOOLS_VALUE_FILE_H

#include "base/layout.h"
#include "store/h5.h"

struct tic_value_file {
    struct tic_shape shape;
    const char *bytes; /* packed, in the byte order of this machine */
    char kind;         /* 'f', 'i', 'u': what elements are; 0: not known */
    const struct tic_h5_ops *h5;
};

/* The type of elements as NumPy names it, "<f8" or "|V24". False: there is none of this kind and
 * size. */
bool tic_value_file_type(const struct tic_value_file *file, char type[8]);
/* The ending of the path tells the form. 0; -ENOTSUP: it tells none; other -errno. */
int tic_value_file_write(const struct tic_value_file *file, const char *path);

#endif
