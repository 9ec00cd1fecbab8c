/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data whose layout only its interface knows (CSR, BCSR, the application's own): saved and restored
 * through the interface's pack_data and unpack_data, as StarPU-MPI sends it. COO has none: coo.c.
 */
#include "interpose/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "base/types.h"
#include "interpose/coo.h"
#include "session/context.h"
#include "session/lookup.h"
#include "real/real.h"

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

static int pack(struct tic_handle *handle, char **bytes, struct tic_shape *shape)
{
    struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(handle->data);
    starpu_ssize_t count = 0;
    void *packed = NULL;

    if (ops->pack_data(handle->data, NODE, &packed, &count) != 0 || count < 0 || !packed)
        return -EIO;
    *bytes = packed;
    *shape = (struct tic_shape){1, 1, {(uint64_t)count, 1, 1, 1}, 0};
    shape->type = type_of(handle, (uint64_t)count);
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

/* To its interface it lies elsewhere now, in memory of main(): a leading dimension is gone, say,
 * that data has which was received. */
static void tell_changed(starpu_data_handle_t data)
{
    static _Atomic bool told;
    const struct tic_handle *handle = tic_handle_of(data);

    if (handle && handle->home_node >= 0 && !atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "data %llu%s (number of registration) was given back by unpack_data of its "
                "interface, which has changed that interface. If this says how the data lies in "
                "memory of main() (a leading dimension), other data there may be overwritten, and "
                "the result wrong: `starpu-tic rehearse` tells",
                (unsigned long long)handle->id, tic_name_of(handle->id));
}

/* It frees the bytes. */
static int unpack(starpu_data_handle_t data, char *bytes, uint64_t size)
{
    struct starpu_data_interface_ops *ops = tic_real.starpu_data_get_interface_ops(data);
    void *interface = tic_real.starpu_data_get_interface_on_node(data, NODE);
    void *before = malloc(ops->interface_size);

    if (before)
        memcpy(before, interface, ops->interface_size);
    int status = ops->unpack_data(data, NODE, bytes, size) == 0 ? 0 : -EIO;
    if (before && memcmp(before, interface, ops->interface_size) != 0)
        tell_changed(data);
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

    return !is_coo(data) && ops->pack_data && ops->unpack_data && ops->get_size &&
           ops->get_size(data) <= most;
}

int tic_pack_put(starpu_data_handle_t data, const char *bytes, uint64_t size)
{
    char *copy = (char *)tic_real.starpu_malloc_on_node_flags(NODE, size, 0);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, size);
    return unpack(data, copy, size);
}
