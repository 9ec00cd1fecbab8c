/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that the program does not allow to be written: constants, files that are mapped for
 * reading, mprotect. In a restart main() has put there what it must hold. */
#ifndef TIC_INTERPOSE_CONSTANT_H
#define TIC_INTERPOSE_CONSTANT_H

#include <stdint.h>

#include "base/layout.h"
#include "graph/handle.h"

/* Stops the start if memory that cannot be written holds something else than this checksum says. */
void tic_constant_require(const struct tic_layout *layout, uint64_t checksum, uint64_t id);
/* Stops the start if it is to be changed, and cannot be. */
void tic_constant_refuse(const struct tic_handle *handle);

#endif
