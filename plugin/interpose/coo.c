/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/coo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"

static size_t index_bytes(const struct starpu_coo_interface *coo)
{
    return (size_t)coo->n_values * sizeof(coo->columns[0]);
}

static size_t value_bytes(const struct starpu_coo_interface *coo)
{
    return (size_t)coo->n_values * coo->elemsize;
}

static bool has_memory(const struct starpu_coo_interface *coo)
{
    return coo->columns && coo->rows && coo->values;
}

bool tic_coo_supports(const struct starpu_coo_interface *coo)
{
    return value_bytes(coo) > 0;
}

char *tic_coo_pack(const struct starpu_coo_interface *coo, uint64_t *size)
{
    const size_t indices = index_bytes(coo), values = value_bytes(coo);
    char *bytes = has_memory(coo) ? malloc(2 * indices + values) : NULL;

    if (!bytes)
        return NULL;
    memcpy(bytes, coo->columns, indices);
    memcpy(bytes + indices, coo->rows, indices);
    memcpy(bytes + 2 * indices, (const void *)coo->values, values);
    *size = 2 * indices + values;
    return bytes;
}

int tic_coo_restore(const struct starpu_coo_interface *coo, struct tic_store *store,
                    const struct tic_saved *saved)
{
    const size_t indices = index_bytes(coo), values = value_bytes(coo);
    const uint64_t size = 2 * indices + values;
    char *bytes = malloc(size);
    const struct tic_layout layout = {
        .shape = {1, 1, {size, 1, 1, 1}}, .base = bytes, .stride = {1}};
    int status = !has_memory(coo)                                   ? -EIO
                 : tic_rows_bytes(&store->rows, saved->row) != size ? -ERANGE
                 : !bytes                                           ? -ENOMEM
                          : tic_store_read(store, saved, &layout);

    if (status == 0) {
        memcpy(coo->columns, bytes, indices);
        memcpy(coo->rows, bytes + indices, indices);
        memcpy((void *)coo->values, bytes + 2 * indices, values);
    }
    free(bytes);
    return status;
}

uint64_t tic_coo_type(const struct starpu_coo_interface *coo, uint64_t element)
{
    return tic_type_sparse(2 * (uint64_t)coo->n_values, element, value_bytes(coo));
}
