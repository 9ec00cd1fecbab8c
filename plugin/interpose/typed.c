/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types of the elements of data. Values that are saved have the type of their data; a restart on a
 * machine of the other byte order swaps by it, and refuses values without. */
#include "interpose/typed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "base/type_rules.h"
#include "base/types.h"
#include "base/words.h"
#include "session/accesses.h"
#include "session/context.h"
#include "session/task.h"
#include "real/real.h"

/* ---- declarations --------------------------------------------------------------------------- */

/* False: values of the data cannot be such elements. Savers read the shape under the lock. */
static bool set_type(struct tic_handle *handle, uint64_t type)
{
    struct tic_shape *shape = &handle->layout.shape;

    if (!handle->is_value ||
        (handle->packer ? tic_type_bytes(type) == 0 : !tic_type_fits(type, shape)))
        return false;
    tic_lock(&handle->saving.lock);
    shape->type = type;
    tic_unlock(&handle->saving.lock);
    return true;
}

/* The type that its recovered value has in the store. */
static uint64_t recovered_type(const struct tic_handle *handle)
{
    struct tic_line_extent extent;

    return handle->restart.pending &&
                   tic_rows_extent(&tic_session->store.rows, handle->saving.current.saved.row,
                                   &extent) == 0
               ? extent.type
               : TIC_TYPE_UNKNOWN;
}

/* What an interface of the application packs may hold longs; StarPU's own know what they hold. */
static void stop_packed(const struct tic_handle *handle)
{
    enum starpu_data_interface_id id = tic_real.starpu_data_get_interface_id(handle->data);

    if (!handle->packer || !handle->restart.pending || !tic_session->graph.signature.mixed ||
        id == STARPU_CSR_INTERFACE_ID || id == STARPU_BCSR_INTERFACE_ID)
        return;
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot continue from %s on this machine: data %llu%s (number of registration) was packed "
        "by its interface where pointers have another size, and nobody has declared what that "
        "is. If it holds numbers of one size everywhere, STARPU_TIC_TYPES='#%llu=int32', say, "
        "declares it. Nothing was overwritten",
        tic_session->store.path, (unsigned long long)handle->id, tic_name_of(handle->id),
        (unsigned long long)handle->id);
}

void tic_typed_register(struct tic_handle *handle, const struct tic_handle *parent)
{
    const uint64_t types[] = {
        tic_type_rule_of_id(handle->id),
        parent ? parent->layout.shape.type : TIC_TYPE_UNKNOWN,
        recovered_type(handle),
        handle->packer ? TIC_TYPE_UNKNOWN
                       : tic_type_rule_of_size(handle->layout.shape.element_size),
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i] && set_type(handle, types[i]))
            return;
    stop_packed(handle);
}

/* Rules of codelets are for data of which nothing better is known. */
static bool is_open(const struct tic_handle *handle)
{
    const uint64_t type = handle->layout.shape.type;

    return type == TIC_TYPE_UNKNOWN ||
           (type == tic_type_rule_of_size(handle->layout.shape.element_size) &&
            !tic_type_rule_of_id(handle->id));
}

void tic_typed_inherit(struct tic_handle *handle, const struct tic_handle *from)
{
    if (from->layout.shape.type && is_open(handle))
        set_type(handle, from->layout.shape.type);
}

void tic_typed_note_task(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    if (__builtin_expect(!tic_type_rules_name_codelets(), 1))
        return;
    for (unsigned i = 0; i < accesses->count; i++) {
        struct tic_handle *handle = accesses->items[i].handle;
        uint64_t type = handle && !handle->use.mentioned && is_open(handle)
                            ? tic_type_rule_of_codelet(tic_task_name(task), i)
                            : TIC_TYPE_UNKNOWN;
        if (type)
            set_type(handle, type);
    }
}

int tic_typed_declare(struct tic_handle *handle, const char *name)
{
    const uint64_t type = tic_type_find(name, strlen(name));
    int status = 0;

    tic_lock(&tic_session->submit);
    if (handle->use.mentioned)
        status = -EBUSY;
    else if (!type || !set_type(handle, type))
        status = -EINVAL;
    tic_unlock(&tic_session->submit);
    return status;
}

/* ---- hashes --------------------------------------------------------------------------------- */

/* Of the bytes with the other byte order. False: the type is not known, or no memory. */
static bool hash_swapped(const struct tic_layout *layout, uint64_t *hash)
{
    const uint64_t size = tic_shape_bytes(&layout->shape);
    char *bytes = layout->shape.type ? malloc(size) : NULL;

    if (!bytes)
        return false;
    struct tic_layout packed = tic_layout_packed(&layout->shape, bytes);
    tic_layout_copy(&packed, layout);
    tic_type_swap(layout->shape.type, bytes, size);
    *hash = tic_layout_checksum(&packed);
    free(bytes);
    return true;
}

/* Of content on a big-endian machine that knows no type. */
static uint64_t mark_big(uint64_t checksum)
{
    const uint64_t big = UINT64_C(0x626967);

    return tic_words_hash(&checksum, 1, big);
}

uint64_t tic_typed_hash(const struct tic_layout *layout)
{
    uint64_t hash;

    if (!tic_machine_is_big_endian())
        return tic_layout_checksum(layout);
    return hash_swapped(layout, &hash) ? hash : mark_big(tic_layout_checksum(layout));
}

bool tic_typed_is_hash_of(const struct tic_layout *layout, uint64_t hash)
{
    uint64_t swapped;

    if (tic_typed_hash(layout) == hash)
        return true;
    if (tic_machine_is_big_endian())
        return mark_big(tic_layout_checksum(layout)) == hash;
    return hash_swapped(layout, &swapped) && mark_big(swapped) == hash;
}
