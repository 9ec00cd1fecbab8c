/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the part of the store that needs libhdf5 as an object of its own. */
#ifndef TIC_INTERPOSE_H5LOAD_H
#define TIC_INTERPOSE_H5LOAD_H

#include "store/h5.h"

/* Does not return when it cannot be loaded: the start is refused. */
const struct tic_h5_ops *tic_h5_load(void);

#endif
