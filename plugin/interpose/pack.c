/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data whose layout only its interface knows (CSR, BCSR, the application's own): saved and restored
 * through the interface's pack_data and unpack_data, as StarPU-MPI sends it. COO has none: below.
 */
#include "interpose/pack.h"

#include <errno.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/names.h"
#include "base/types.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/symbol.h"
#include "real/real.h"
#include "store/store.h"

/* ---- COO matrices ---------------------------------------------------------------------------- */

/* COO matrices, whose interface has no pack_data: packed as CSR is, first the indices, columns then
 * rows, then the values. Without locks; who calls sees to it that nobody writes the matrix. */

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

/* It has elements, so that it can be saved. */
static bool tic_coo_supports(const struct starpu_coo_interface *coo)
{
    return value_bytes(coo) > 0;
}

static uint64_t tic_coo_bytes(const struct starpu_coo_interface *coo)
{
    return has_memory(coo) ? 2 * index_bytes(coo) + value_bytes(coo) : UINT64_MAX;
}

/* The bytes of its three arrays, malloc'ed; or NULL. */
static char *tic_coo_pack(const struct starpu_coo_interface *coo, uint64_t *size)
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

static int tic_coo_put(const struct starpu_coo_interface *coo, const char *bytes, uint64_t size)
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

static int tic_coo_restore(const struct starpu_coo_interface *coo, struct tic_store *store,
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

static uint64_t tic_coo_type(const struct starpu_coo_interface *coo, uint64_t element)
{
    return tic_type_sparse(2 * (uint64_t)coo->n_values, element, value_bytes(coo));
}

enum { NODE = STARPU_MAIN_RAM };

/* CSR and BCSR are packed as two index arrays, then the values: nnz columns, rows + 1 offsets.
 * Others as the application does it, who may have declared what that is. */
static uint64_t type_of(struct tic_handle *handle, uint64_t size)
{
    const struct tic_shape shape = {1, 1, {size, 1, 1, 1}, 0};
    const void *interface = tic_real.starpu_data_get_interface_on_node(handle->data, NODE);
    const struct starpu_csr_interface *csr = interface;
    const struct starpu_bcsr_interface *bcsr = interface;
    uint64_t type = handle->layout.shape.type;

    switch (tic_real.starpu_data_get_interface_id(handle->data)) {
    case STARPU_CSR_INTERFACE_ID:
        type = tic_type_sparse((uint64_t)csr->nnz + csr->nrow + 1, type,
                               (uint64_t)csr->nnz * csr->elemsize);
        break;
    case STARPU_BCSR_INTERFACE_ID:
        type = tic_type_sparse((uint64_t)bcsr->nnz + bcsr->nrow + 1, type,
                               (uint64_t)bcsr->nnz * bcsr->r * bcsr->c * bcsr->elemsize);
        break;
    case STARPU_COO_INTERFACE_ID:
        type = tic_coo_type(interface, type);
        break;
    default:
        break;
    }
    return tic_type_fits(type, &shape) ? type : TIC_TYPE_UNKNOWN;
}

static bool is_coo(starpu_data_handle_t data)
{
    return tic_real.starpu_data_get_interface_id(data) == STARPU_COO_INTERFACE_ID;
}

static const struct starpu_coo_interface *coo_of(starpu_data_handle_t data)
{
    return tic_real.starpu_data_get_interface_on_node(data, NODE);
}

static int pack_coo(struct tic_handle *handle, char **bytes, struct tic_shape *shape)
{
    uint64_t size;
    char *packed = tic_coo_pack(coo_of(handle->data), &size);

    if (!packed)
        return -EIO;
    *bytes = packed;
    *shape = (struct tic_shape){1, 1, {size, 1, 1, 1}, 0};
    shape->type = type_of(handle, size);
    return 0;
}

static void release_coo(char *bytes, uint64_t size)
{
    (void)size;
    free(bytes);
}

struct packing {
    starpu_data_handle_t data;
    void *bytes;
    starpu_ssize_t count;
    int status;
};

static void pack_data(void *arg)
{
    struct packing *packing = arg;

    packing->status = tic_real.starpu_data_get_interface_ops(packing->data)
                          ->pack_data(packing->data, NODE, &packing->bytes, &packing->count);
}

static int pack(struct tic_handle *handle, char **bytes, struct tic_shape *shape)
{
    struct packing packing = {.data = handle->data};

    tic_apart_call_beside(pack_data, &packing);
    if (packing.status != 0 || packing.count < 0 || !packing.bytes)
        return -EIO;
    *bytes = packing.bytes;
    *shape = (struct tic_shape){1, 1, {(uint64_t)packing.count, 1, 1, 1}, 0};
    shape->type = type_of(handle, (uint64_t)packing.count);
    return 0;
}

static void release(char *bytes, uint64_t size)
{
    tic_real.starpu_free_on_node_flags(NODE, (uintptr_t)bytes, size, 0);
}

static const struct tic_packer packer = {pack, release};
static const struct tic_packer coo_packer = {pack_coo, release_coo};

bool tic_pack_supports(struct tic_handle *handle)
{
    struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(handle->data);
    bool coo = is_coo(handle->data);

    if (coo ? !tic_coo_supports(coo_of(handle->data)) : !ops->pack_data || !ops->unpack_data)
        return false;
    handle->packer = coo ? &coo_packer : &packer;
    /* How many bytes they are is known when it is saved. */
    handle->layout.shape = (struct tic_shape){1, 1, {1, 1, 1, 1}, 0};
    return true;
}

static void tell_changed(const struct tic_handle *handle)
{
    static _Atomic bool told;

    if (!atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "unpack_data of data %llu%s has changed its interface: results may be wrong; "
                "starpu-tic explain unpack",
                (unsigned long long)handle->id, tic_name_of(handle->id));
}

_Noreturn static void stop_moved(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "data %llu%s (number of registration) was given back by unpack_data of its interface, "
             "which now says that as many bytes lie otherwise in memory of main() (as without a "
             "leading dimension): other data there may be overwritten. A restart can give such "
             "data back only where the interface lays it out as main() has registered it",
             (unsigned long long)handle->id, tic_name_of(handle->id));
}

/* It has memory of its own, which it has allocated anew. */
static bool has_new_addresses(const char *before, const char *now, size_t size)
{
    bool has = false;

    for (size_t at = 0; at + sizeof(uint64_t) <= size && !has; at += sizeof(uint64_t))
        has = memcmp(before + at, now + at, sizeof(uint64_t)) != 0 &&
              tic_symbol_is_pointer_at(now, at);
    return has;
}

/* unpack_data is the program's: it may take main()'s memory for another part of it. Data that has
 * another size now, or other memory, may be so rightly. */
static void compare_interface(starpu_data_handle_t data, const char *before, const char *now,
                              bool resized)
{
    const struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(data);
    const struct tic_handle *handle = tic_handle_of(data);

    if (!handle || handle->home_node < 0 || memcmp(before, now, ops->interface_size) == 0)
        return;
    if (!resized && !has_new_addresses(before, now, ops->interface_size))
        stop_moved(handle);
    tell_changed(handle);
}

static size_t size_of(starpu_data_handle_t data)
{
    const struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(data);

    return ops->get_size ? ops->get_size(data) : 0;
}

/* It frees the bytes. */
static int unpack(starpu_data_handle_t data, char *bytes, uint64_t size)
{
    const struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(data);
    void *interface = tic_real.starpu_data_get_interface_on_node(data, NODE);
    size_t size_before = size_of(data);
    void *before = malloc(ops->interface_size);

    if (!before)
        return -ENOMEM;
    memcpy(before, interface, ops->interface_size);
    int status = ops->unpack_data(data, NODE, bytes, size) == 0 ? 0 : -EIO;
    compare_interface(data, before, interface, size_of(data) != size_before);
    free(before);
    return status;
}

int tic_pack_restore(starpu_data_handle_t data, const struct tic_saved *saved)
{
    struct tic_store *store = &tic_session->store;

    if (is_coo(data))
        return tic_coo_restore(coo_of(data), store, saved);
    uint64_t size = tic_rows_bytes(&store->rows, saved->row);
    char *bytes = (char *)tic_real.starpu_malloc_on_node_flags(NODE, size, 0);
    struct tic_layout layout = {.shape = {1, 1, {size, 1, 1, 1}}, .base = bytes, .stride = {1}};

    if (!bytes)
        return -ENOMEM;
    int status = tic_store_read(store, saved, &layout);
    if (status) {
        release(bytes, size);
        return status;
    }
    return unpack(data, bytes, size);
}

bool tic_pack_can_put(starpu_data_handle_t data, uint64_t most)
{
    struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(data);

    if (is_coo(data))
        return tic_coo_bytes(coo_of(data)) <= most;
    return ops->pack_data && ops->unpack_data && ops->get_size && ops->get_size(data) <= most;
}

int tic_pack_put(starpu_data_handle_t data, const char *bytes, uint64_t size)
{
    if (is_coo(data))
        return tic_coo_put(coo_of(data), bytes, size);
    char *copy = (char *)tic_real.starpu_malloc_on_node_flags(NODE, size, 0);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, size);
    return unpack(data, copy, size);
}
