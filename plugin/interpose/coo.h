/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* COO matrices, whose interface has no pack_data: packed as CSR is, first the indices, columns then
 * rows, then the values. Without locks; who calls sees to it that nobody writes the matrix. */
#ifndef TIC_INTERPOSE_COO_H
#define TIC_INTERPOSE_COO_H

#include <starpu.h>
#include <stdbool.h>

#include "store/store.h"

/* It has elements, so that it can be saved. */
bool tic_coo_supports(const struct starpu_coo_interface *coo);
/* The bytes of its three arrays, malloc'ed; or NULL. */
char *tic_coo_pack(const struct starpu_coo_interface *coo, uint64_t *size);
/* Their size, or UINT64_MAX where it has none. */
uint64_t tic_coo_bytes(const struct starpu_coo_interface *coo);
/* Writes such bytes into its arrays. 0, -ERANGE where it has another number of them, or -EIO. */
int tic_coo_put(const struct starpu_coo_interface *coo, const char *bytes, uint64_t size);
/* The same with a saved value. 0, -ERANGE where it has another number of bytes, or -errno.
 */
int tic_coo_restore(const struct starpu_coo_interface *coo, struct tic_store *store,
                    const struct tic_saved *saved);
/* The type of its bytes, if its values have this one. */
uint64_t tic_coo_type(const struct starpu_coo_interface *coo, uint64_t element);

#endif
