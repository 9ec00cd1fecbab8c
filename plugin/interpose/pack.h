/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that is saved by its interface's pack_data and unpack_data. */
#ifndef TIC_INTERPOSE_PACK_H
#define TIC_INTERPOSE_PACK_H

#include <starpu.h>
#include <stdbool.h>

struct tic_handle;
struct tic_saved;

/* Can the interface pack it? Then the handle is saved that way. */
bool tic_pack_supports(struct tic_handle *handle);
/* Reads a value and unpacks it; the data is allocated and nobody uses it. 0 or -errno. */
int tic_pack_restore(starpu_data_handle_t data, const struct tic_saved *saved);

#endif
