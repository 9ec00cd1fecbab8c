/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of whole segments: how much is in use, and when nobody gets one any more. */
#include <errno.h>
#include <string.h>

#include "store/extent.h"
#include "store/held.h"

void tic_rows_count_use(struct tic_rows *rows, tic_use_of use_of, void *arg)
{
    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count; i++) {
        const struct tic_extent *extent = rows->extents[i];
        struct tic_use *use =
            tic_extent_is_retired(extent) ? NULL : use_of(arg, extent->disk.segment);
        if (!use)
            continue;
        use->rows += extent->disk.rows - extent->free;
        use->bytes += (extent->disk.rows - extent->free) * tic_shape_bytes(&extent->shape);
        use->touched += extent->top * tic_shape_bytes(&extent->shape);
        use->pinned += extent->pins;
    }
    tic_unlock(&rows->lock);
}

void tic_rows_unpin_all(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count; i++) {
        struct tic_extent *extent = rows->extents[i];
        if (!tic_extent_is_retired(extent))
            memset(extent->pinned, 0, (extent->disk.rows + 63) / 64 * sizeof(*extent->pinned));
        extent->pins = 0;
    }
    rows->pinned_bytes = 0;
    tic_held_unpin_all_locked(rows);
    tic_unlock(&rows->lock);
}

void tic_rows_close(struct tic_rows *rows, uint64_t segment, bool closed)
{
    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count; i++)
        if (rows->extents[i]->disk.segment == segment)
            rows->extents[i]->closed = closed;
    tic_unlock(&rows->lock);
}

bool tic_rows_is_closed(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    row = tic_held_real_locked(rows, row);
    bool closed = row.extent < rows->count && rows->extents[row.extent]->closed;
    tic_unlock(&rows->lock);
    return closed;
}

void tic_rows_bound(struct tic_rows *rows, uint64_t most)
{
    tic_lock(&rows->lock);
    rows->most = most;
    tic_unlock(&rows->lock);
}

uint64_t tic_rows_touched(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    const uint64_t touched = rows->touched;
    tic_unlock(&rows->lock);
    return touched;
}

int tic_rows_retire(struct tic_rows *rows, uint64_t segment)
{
    int status = 0;

    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count && status == 0; i++) {
        const struct tic_extent *extent = rows->extents[i];
        if (extent->disk.segment == segment && !tic_extent_is_retired(extent) &&
            extent->free != extent->disk.rows)
            status = -EBUSY;
    }
    for (unsigned long i = 0; i < rows->count && status == 0; i++)
        if (rows->extents[i]->disk.segment == segment && !tic_extent_is_retired(rows->extents[i]))
            tic_extent_retire_locked(rows, rows->extents[i]);
    tic_unlock(&rows->lock);
    return status;
}
