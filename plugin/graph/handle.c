/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One data handle of the application, as the protocol sees it. */
#include "graph/handle.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- memory --------------------------------------------------------------------------------- */

/* Handles lie side by side, and not between StarPU's large structures: so those in use share pages.
 * Blocks stay until the process ends, as new handles follow those that have gone. */
enum { BLOCK = 64 };

union cell {
    struct tic_handle handle;
    union cell *next;
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    union cell *free;      /* guarded by mutex */
} cells = {PTHREAD_MUTEX_INITIALIZER, NULL};

#if defined(TIC_DEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { AT_ONCE = 1 }; /* tools see who uses a handle that has gone */
#else
enum { AT_ONCE = BLOCK };
#endif

static void add_cells_locked(void)
{
    union cell *block = aligned_alloc(_Alignof(union cell), AT_ONCE * sizeof(*block));

    for (unsigned i = AT_ONCE; block && i-- > 0;) {
        block[i].next = cells.free;
        cells.free = &block[i];
    }
}

static struct tic_handle *take_cell(void)
{
    pthread_mutex_lock(&cells.mutex);
    if (!cells.free)
        add_cells_locked();
    union cell *cell = cells.free;
    if (cell)
        cells.free = cell->next;
    pthread_mutex_unlock(&cells.mutex);
    return cell ? &cell->handle : NULL;
}

static void give_cell_back(struct tic_handle *handle)
{
    union cell *cell = (union cell *)handle;

    if (AT_ONCE == 1) {
        free(cell);
        return;
    }
    pthread_mutex_lock(&cells.mutex);
    cell->next = cells.free;
    cells.free = cell;
    pthread_mutex_unlock(&cells.mutex);
}

/* ---- life ----------------------------------------------------------------------------------- */

bool tic_handle_append(struct tic_handle_list *list, struct tic_handle *handle)
{
    return tic_append(list->items, list->count, list->capacity, &handle) == 0;
}

struct tic_handle *tic_handle_create(uint64_t id)
{
    struct tic_handle *handle = take_cell();
    if (!handle)
        return NULL;
    memset(handle, 0, sizeof(*handle));
    handle->id = id;
    tic_lock_init(&handle->saving.lock, TIC_RANK_HANDLE);
    return handle;
}

static void free_family(struct tic_family *family)
{
    if (family)
        free(family->members);
    free(family);
}

void tic_handle_destroy(struct tic_handle *handle)
{
    if (!handle)
        return;
    free(handle->children);
    free(handle->redux);
    free(handle->listing.overlaps);
    if (handle->listing.is_root) /* members may go before or after it */
        free_family(handle->family);
    tic_lock_fini(&handle->saving.lock);
    give_cell_back(handle);
}

/* ---- versions and values -------------------------------------------------------------------- */

void tic_handle_count_family_write(struct tic_handle *handle)
{
    atomic_store_explicit(
        &handle->saving.version,
        atomic_fetch_add_explicit(&handle->family->writes, 1, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

void tic_handle_note_saved_locked(struct tic_handle *handle, const struct tic_saved *saved,
                                  uint64_t active_cut)
{
    uint64_t since = atomic_load_explicit(&handle->saving.dirty_since, memory_order_relaxed);

    /* The first save after the cut sets aside what the cut needs; later ones leave it there. */
    if (since > active_cut && handle->saving.current.since <= active_cut)
        handle->saving.previous = handle->saving.current;
    handle->saving.current.exists = true;
    handle->saving.current.found = handle->saving.current.doubtful =
        handle->saving.current.is_result = false;
    handle->saving.current.awaits_main = false; /* what it made is over when something is dirty */
    handle->saving.current.since = since;
    handle->saving.current.version =
        atomic_load_explicit(&handle->saving.version, memory_order_relaxed);
    handle->saving.current.saved = *saved;
    atomic_store_explicit(&handle->saving.dirty_since, 0, memory_order_release);
}

const struct tic_value *tic_handle_value_at_locked(const struct tic_handle *handle, uint64_t cut)
{
    const struct tic_value *value =
        handle->saving.current.since <= cut ? &handle->saving.current : &handle->saving.previous;
    return value->exists ? value : NULL;
}
