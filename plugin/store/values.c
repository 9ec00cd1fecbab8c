/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: values are saved to rows, and read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "store/held.h"
#include "store/same.h"
#include "store/store.h"

/* What changes while it is saved is neither the old value nor the new one. */
static void check_steady(const struct tic_store *store, const struct tic_layout *layout,
                         uint64_t checksum)
{
#ifdef TIC_DEBUG
    if (layout->unsteady || tic_layout_checksum(layout) == checksum || atomic_load(&store->idle))
        return;
    tic_log(TIC_LOG_ERROR, "internal error: a value changed while it was saved");
    abort();
#else
    (void)store;
    (void)layout;
    (void)checksum;
#endif
}

static int save(struct tic_store *store, const struct tic_layout *layout, int level,
                struct tic_saved *saved)
{
    uint64_t bytes = tic_shape_bytes(&layout->shape);
    struct tic_place place;
    uint64_t key, written;

    if (tic_same_find(store, layout, saved, &key)) {
        atomic_fetch_add_explicit(&store->counts.bytes_shared, bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&store->counts.values_shared, 1, memory_order_relaxed);
        return 0;
    }
    int status = tic_rows_take(&store->rows, &layout->shape, &saved->row);
    if (status)
        return status;
    status = tic_rows_locate(&store->rows, saved->row, bytes, &place);
    if (status == 0)
        status = tic_payload_write(store->h5, &place, layout,
                                   (struct tic_compression){level, &store->hurry}, &saved->checksum,
                                   &written);
    if (status) {
        tic_same_forget(store, key);
        if (status != -ETIME) /* else it may be written yet, and stays busy */
            tic_rows_settle(&store->rows, saved->row);
        return status;
    }
    check_steady(store, layout, saved->checksum);
    tic_same_note(store, key, saved);
    atomic_fetch_add_explicit(&store->counts.bytes_written, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->counts.values_written, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->counts.bytes_spared, bytes - written, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_ROW_WRITE);
    return 0;
}

int tic_store_save(struct tic_store *store, const struct tic_layout *layout,
                   struct tic_saved *saved)
{
    return save(store, layout, 0, saved);
}

int tic_store_save_compressed(struct tic_store *store, const struct tic_layout *layout,
                              struct tic_saved *saved)
{
    return save(store, layout, store->level, saved);
}

/* One that this run has saved may be in memory still, and be written meanwhile. */
static int read_row(struct tic_store *store, struct tic_row row, const struct tic_layout *layout,
                    uint64_t *checksum)
{
    struct tic_place place;

    int status = row.extent == TIC_HELD_EXTENT
                     ? tic_held_read(&store->rows, row.row, layout, checksum)
                     : -ENOENT;
    if (status != -ENOENT)
        return status;
    status = tic_rows_locate(&store->rows, row, tic_shape_bytes(&layout->shape), &place);
    return status ? status : tic_payload_read(store->h5, &place, layout, checksum);
}

int tic_store_read(struct tic_store *store, const struct tic_saved *saved,
                   const struct tic_layout *layout)
{
    uint64_t checksum;

    atomic_fetch_add(&store->reading.begun, 1);
    int status = read_row(store, saved->row, layout, &checksum);
    atomic_fetch_add(&store->reading.ended, 1);
    if (status == 0)
        atomic_fetch_add_explicit(&store->reading.bytes, tic_shape_bytes(&layout->shape),
                                  memory_order_relaxed);
    if (status == 0 && checksum != saved->checksum)
        status = -EBADMSG;
    return status;
}
