/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Held values are written to rows. */
#include <errno.h>

#include "base/io.h"
#include "base/memory.h"
#include "store/held.h"
#include "store/held_value.h"
#include "store/store.h"

enum { BATCH = 16 << 20 }; /* bytes */

/* tic_store_save, or that with compression. */
typedef int (*way_to_save)(struct tic_store *store, const struct tic_layout *layout,
                           struct tic_saved *saved);

static int write_held(struct tic_store *store, struct tic_row row, way_to_save save)
{
    struct tic_rows *rows = &store->rows;
    struct tic_saved saved;

    int status = tic_held_copy_image(rows, row.row, &store->ending);
    if (status)
        return status;
    struct tic_held held = tic_held_look_up(rows, row.row);
    if (!held.bytes)
        return 0;
    struct tic_layout packed = tic_layout_packed(&held.shape, held.bytes);
    bool before = tic_io_set_own(true);
    status = save(store, &packed, &saved);
    tic_io_set_own(before);
    if (status)
        return status;
    tic_lock(&rows->lock);
    tic_held_drop_locked(rows, &rows->held[row.row]);
    rows->held[row.row].real = saved.row;
    rows->held[row.row].written = true;
    bool pinned = rows->held[row.row].pinned;
    tic_unlock(&rows->lock);
    if (pinned)
        tic_rows_pin(rows, saved.row);
    tic_rows_settle(rows, saved.row); /* the next sweep finds it by its number */
    return 0;
}

int tic_held_write(struct tic_store *store, struct tic_row row)
{
    return write_held(store, row, tic_store_save_compressed);
}

/* Only this thread sweeps, so the bytes stay while they are written. */
static int write_one(struct tic_store *store, uint32_t number, way_to_save save)
{
    const struct tic_row row = {TIC_HELD_EXTENT, number};
    int status = write_held(store, row, save);

    while (status == -EAGAIN) { /* somebody else may take the row */
        struct tic_demand demand = {tic_held_look_up(&store->rows, number).shape, 1};
        status = tic_store_provide(store, &demand, 1);
        status = status ? status : write_held(store, row, save);
    }
    return status;
}

int tic_held_write_all(struct tic_store *store)
{
    int status = 0;

    tic_lock(&store->rows.lock);
    unsigned long count = store->rows.held_bytes > 0 ? store->rows.held_count : 0;
    store->rows.held_stays = false;
    tic_unlock(&store->rows.lock);
    for (unsigned long i = 0; i < count && status == 0; i++)
        status = write_one(store, (uint32_t)i, tic_store_save);
    return status;
}

bool tic_held_is_much(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    bool much = rows->held_bytes > (tic_memory_is_short() ? 0 : TIC_HELD_SOON) && !rows->held_stays;
    tic_unlock(&rows->lock);
    return much;
}

/* The next one that has not been written, the number behind the last if there is none. */
static uint32_t find_next(struct tic_rows *rows, uint64_t *bytes)
{
    tic_lock(&rows->lock);
    while (rows->held_written < rows->held_count &&
           !tic_held_is_there(&rows->held[rows->held_written]))
        rows->held_written++;
    uint32_t number = (uint32_t)rows->held_written;
    bool any = number < rows->held_count;
    *bytes = any ? tic_shape_bytes(&rows->held[number].shape) : 0;
    if (!any)
        rows->held_written = 0; /* numbers below may be in use again by then */
    tic_unlock(&rows->lock);
    return number;
}

int tic_held_write_some(struct tic_store *store)
{
    uint64_t written = 0, bytes;
    int status = 0;

    while (tic_held_is_much(&store->rows) && written < BATCH && status == 0) {
        uint32_t number = find_next(&store->rows, &bytes);
        if (bytes == 0)
            break;
        status = write_one(store, number, tic_store_save_compressed);
        written += bytes;
    }
    tic_lock(&store->rows.lock);
    store->rows.held_stays |= status != 0;
    tic_unlock(&store->rows.lock);
    return status ? status : written > 0;
}

static int resolve(void *arg, const struct tic_line_reference *reference)
{
    struct tic_row real = tic_rows_real(arg, (struct tic_row){*reference->extent, *reference->row});

    *reference->extent = real.extent;
    *reference->row = real.row;
    return real.extent == TIC_HELD_EXTENT ? -EIO : 0;
}

int tic_held_resolve(struct tic_rows *rows, struct tic_line *line)
{
    return tic_line_each(line, resolve, rows);
}
