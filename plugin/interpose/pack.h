/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that is saved by its interface's pack_data and unpack_data. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_handle;
struct tic_saved;

/* Can the interface pack it? Then the handle is saved that way. */
bool tic_pack_supports(struct tic_handle *handle);
/* Reads a value and unpacks it; the data is allocated and nobody uses it. 0 or -errno. */
int tic_pack_restore(starpu_data_handle_t data, const struct tic_saved *saved);
/* Can bytes that were packed be put back, and are they as many as that, at most, as it seems? */
bool tic_pack_can_put(starpu_data_handle_t data, uint64_t most);
/* Unpacks a copy of them. 0 or -errno. */
int tic_pack_put(starpu_data_handle_t data, const char *bytes, uint64_t size);
