/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One data handle of the application, as the protocol sees it. */
#include "graph/handle.h"

#include <stdlib.h>
#include <string.h>

#include "graph/family.h"

struct tic_handle *tic_handle_create(uint64_t id)
{
    struct tic_handle *handle = aligned_alloc(_Alignof(struct tic_handle), sizeof(*handle));
    if (!handle)
        return NULL;
    memset(handle, 0, sizeof(*handle));
    handle->id = id;
    tic_lock_init(&handle->lock, TIC_RANK_HANDLE);
    return handle;
}

void tic_handle_destroy(struct tic_handle *handle)
{
    if (!handle)
        return;
    free(handle->children);
    free(handle->redux);
    free(handle->set_aside);
    free(handle->overlaps);
    if (handle->is_root) /* members may go before or after it */
        tic_family_free(handle->family);
    tic_lock_fini(&handle->lock);
    free(handle);
}

void tic_handle_count_write(struct tic_handle *handle)
{
    struct tic_family *family = handle->family;

    if (family)
        atomic_store_explicit(&handle->version,
                              atomic_fetch_add_explicit(&family->writes, 1, memory_order_relaxed) +
                                  1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&handle->version, 1, memory_order_relaxed);
}

void tic_handle_note_saved_locked(struct tic_handle *handle, const struct tic_saved *saved,
                                  uint64_t active_cut)
{
    uint64_t since = atomic_load_explicit(&handle->dirty_since, memory_order_relaxed);

    /* The first save after the cut sets aside what the cut needs; later ones leave it there. */
    if (since > active_cut && handle->current.since <= active_cut)
        handle->previous = handle->current;
    handle->current.exists = true;
    handle->current.since = since;
    handle->current.version = atomic_load_explicit(&handle->version, memory_order_relaxed);
    handle->current.saved = *saved;
    atomic_store_explicit(&handle->dirty_since, 0, memory_order_release);
}

const struct tic_value *tic_handle_value_at_locked(const struct tic_handle *handle, uint64_t cut)
{
    const struct tic_value *value =
        handle->current.since <= cut ? &handle->current : &handle->previous;
    return value->exists ? value : NULL;
}
