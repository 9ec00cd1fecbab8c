/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the part of the store that needs libhdf5 as an object of its own. */
#pragma once

#include "store/h5.h"

/* library: the path of libstarputic.so, beside which the module is. NULL if it cannot be loaded;
 * *reason, which stays, then tells why. */
const struct tic_h5_ops *tic_h5_load(const char *library, const char **reason);
