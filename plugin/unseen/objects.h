/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loaded objects with kernels: the program, and libraries. Guarded by the lock of statics.c. */
#pragma once

#include <starpu.h>

#include "unseen/beside.h"

/* Adds the objects with the kernels of this codelet, and to known what the dynamic linker writes
 * there. The first call adds the program. 0 or -errno. */
int tic_objects_add(const struct starpu_codelet *codelet, struct tic_spans *known);
bool tic_objects_have(const void *at);
/* Their writable segments. */
unsigned tic_objects_segments(const struct tic_beside **segments);
