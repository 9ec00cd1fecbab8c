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

uint64_t tic_coo_bytes(const struct starpu_coo_interface *coo)
{
    return has_memory(coo) ? 2 * index_bytes(coo) + value_bytes(coo) : UINT64_MAX;
}

char *tic_coo_pack(const struct starpu_coo_interface *coo, uint64_t *size)
{
    const size_t indices = index_bytes(coo);
    char *bytes = has_memory(coo) ? malloc(tic_coo_bytes(coo)) : NULL;

    if (!bytes)
        return NULL;
    memcpy(bytes, coo->columns, indices);
    memcpy(bytes + indices, coo->rows, indices);
    memcpy(bytes + 2 * indices, (const void *)coo->values, value_bytes(coo));
    *size = tic_coo_bytes(coo);
    return bytes;
}

int tic_coo_put(const struct starpu_coo_interface *coo, const char *bytes, uint64_t size)
{
    const size_t indices = index_bytes(coo);

    if (!has_memory(coo))
        return -EIO;
    if (size != tic_coo_bytes(coo))
        return -ERANGE;
    memcpy(coo->columns, bytes, indices);
    memcpy(coo->rows, bytes + indices, indices);
    memcpy((void *)coo->values, bytes + 2 * indices, value_bytes(coo));
    return 0;
}

int tic_coo_restore(const struct starpu_coo_interface *coo, struct tic_store *store,
                    const struct tic_saved *saved)
{
    const uint64_t size = tic_rows_bytes(&store->rows, saved->row);
    char *bytes = malloc(size);
    const struct tic_layout layout = {
        .shape = {1, 1, {size, 1, 1, 1}}, .base = bytes, .stride = {1}};
    int status = bytes ? tic_store_read(store, saved, &layout) : -ENOMEM;

    if (status == 0)
        status = tic_coo_put(coo, bytes, size);
    free(bytes);
    return status;
}

uint64_t tic_coo_type(const struct starpu_coo_interface *coo, uint64_t element)
{
    return tic_type_sparse(2 * (uint64_t)coo->n_values, element, value_bytes(coo));
}
