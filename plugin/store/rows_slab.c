/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which payload row of which segment is free: a slab allocator on disk. */
#include "store/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/extent.h"
#include "store/held.h"

static size_t words_of(const struct tic_extent *extent)
{
    return (extent->disk.rows + 63) / 64;
}

static void set_bit(uint64_t *bits, uint64_t row)
{
    bits[row / 64] |= UINT64_C(1) << (row % 64);
}

static void clear_bit(uint64_t *bits, uint64_t row)
{
    bits[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

static bool has_bit(const uint64_t *bits, uint64_t row)
{
    return bits[row / 64] >> (row % 64) & 1;
}

void tic_rows_init(struct tic_rows *rows)
{
    memset(rows, 0, sizeof(*rows));
    rows->most = UINT64_MAX;
    rows->held_most = TIC_HELD_MOST;
    tic_lock_init(&rows->lock, TIC_RANK_ROWS);
}

static void extent_destroy(struct tic_extent *extent)
{
    if (extent)
        free(extent->used);
    free(extent);
}

void tic_rows_fini(struct tic_rows *rows)
{
    for (unsigned long i = 0; i < rows->count; i++)
        extent_destroy(rows->extents[i]);
    free(rows->extents);
    tic_held_fini(rows);
    tic_lock_fini(&rows->lock);
}

static struct tic_extent *extent_create(const struct tic_line_extent *disk, int fd)
{
    struct tic_extent *extent = calloc(1, sizeof(*extent));
    if (!extent)
        return NULL;
    extent->disk = *disk;
    extent->shape = tic_line_extent_shape(disk);
    extent->fd = fd;
    extent->free = disk->rows;
    const size_t words = words_of(extent);
    extent->used = calloc(5 * words + 1, sizeof(uint64_t)); /* and the four behind it */
    if (!extent->used) {
        free(extent);
        return NULL;
    }
    extent->busy = extent->used + words;
    extent->keep = extent->busy + words;
    extent->pinned = extent->keep + words;
    extent->shared = extent->pinned + words;
    return extent;
}

void tic_extent_retire_locked(struct tic_rows *rows, struct tic_extent *extent)
{
    rows->touched -= extent->top * tic_shape_bytes(&extent->shape);
    memset(&extent->shape, 0, sizeof(extent->shape));
    extent->fd = -1;
    extent->free = extent->top = 0;
    rows->retired++;
}

static long append_locked(struct tic_rows *rows, struct tic_extent *extent) TIC_REQUIRES(rows->lock)
{
    if (tic_append(rows->extents, rows->count, rows->capacity, &extent) != 0)
        return -ENOMEM;
    if (tic_extent_is_retired(extent))
        tic_extent_retire_locked(rows, extent);
    return (long)rows->count - 1;
}

/* In the place of a retired one. */
static long replace_locked(struct tic_rows *rows, struct tic_extent *extent)
{
    unsigned long i = 0;

    while (!tic_extent_is_retired(rows->extents[i]))
        i++;
    extent_destroy(rows->extents[i]);
    rows->extents[i] = extent;
    rows->retired--;
    return (long)i;
}

static long add(struct tic_rows *rows, const struct tic_line_extent *disk, int fd, bool append)
{
    struct tic_extent *extent = extent_create(disk, fd);

    if (!extent)
        return -ENOMEM;
    tic_lock(&rows->lock);
    long index =
        rows->retired > 0 && !append ? replace_locked(rows, extent) : append_locked(rows, extent);
    tic_unlock(&rows->lock);
    if (index < 0)
        extent_destroy(extent);
    return index;
}

long tic_rows_add(struct tic_rows *rows, const struct tic_line_extent *disk, int fd)
{
    return add(rows, disk, fd, false);
}

long tic_rows_append(struct tic_rows *rows, const struct tic_line_extent *disk, int fd)
{
    return add(rows, disk, fd, true);
}

static bool gives(const struct tic_extent *extent, const struct tic_shape *shape)
{
    return !extent->closed && tic_shape_same(&extent->shape, shape);
}

static uint64_t sum_rows(struct tic_rows *rows, const struct tic_shape *shape, bool free)
{
    uint64_t sum = 0;
    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count; i++)
        if (gives(rows->extents[i], shape))
            sum += free ? rows->extents[i]->free : rows->extents[i]->disk.rows;
    tic_unlock(&rows->lock);
    return sum;
}

uint64_t tic_rows_available(struct tic_rows *rows, const struct tic_shape *shape)
{
    return sum_rows(rows, shape, true);
}

uint64_t tic_rows_total(struct tic_rows *rows, const struct tic_shape *shape)
{
    return sum_rows(rows, shape, false);
}

/* Are there free rows that were in use before? They take no more space on the disk. */
static bool has_touched(const struct tic_extent *extent)
{
    return extent->top > extent->disk.rows - extent->free;
}

static void take_row_locked(struct tic_rows *rows, struct tic_extent *extent, uint64_t row)
{
    if (row >= extent->top) {
        rows->touched += (row + 1 - extent->top) * tic_shape_bytes(&extent->shape);
        extent->top = row + 1;
    }
    extent->hint = row / 64;
    extent->free--;
    set_bit(extent->used, row);
    set_bit(extent->busy, row);
    set_bit(extent->keep, row);
    clear_bit(extent->shared, row);
    rows->taken++;
}

/* One below the top, which must be there; else the first one above. */
static uint64_t find_free(const struct tic_extent *extent)
{
    size_t words = words_of(extent);

    if (!has_touched(extent))
        return extent->top;
    for (size_t i = 0; i < words; i++) {
        size_t word = (extent->hint + i) % words;
        if (extent->used[word] == UINT64_MAX)
            continue;
        uint64_t row = word * 64 + (uint64_t)__builtin_ctzll(~extent->used[word]);
        if (row < extent->top)
            return row;
    }
    return extent->top; /* unreachable */
}

static struct tic_extent *find_extent_locked(struct tic_rows *rows, const struct tic_shape *shape,
                                             bool touched, unsigned long *index)
{
    for (*index = 0; *index < rows->count; ++*index) {
        struct tic_extent *extent = rows->extents[*index];
        if (extent->free > 0 && gives(extent, shape) && (!touched || has_touched(extent)))
            return extent;
    }
    return NULL;
}

int tic_rows_take(struct tic_rows *rows, const struct tic_shape *shape, struct tic_row *row)
{
    unsigned long index;
    int status = 0;

    tic_lock(&rows->lock);
    struct tic_extent *extent = find_extent_locked(rows, shape, true, &index);
    if (!extent) {
        extent = find_extent_locked(rows, shape, false, &index);
        if (extent && rows->touched + tic_shape_bytes(shape) > rows->most)
            status = -EDQUOT;
    }
    if (!extent)
        status = -EAGAIN;
    if (status == 0) {
        *row = (struct tic_row){(uint32_t)index, (uint32_t)find_free(extent)};
        take_row_locked(rows, extent, row->row);
    }
    tic_unlock(&rows->lock);
    return status;
}

bool tic_rows_share(struct tic_rows *rows, struct tic_row row, const struct tic_shape *shape)
{
    bool fine = false;

    tic_lock(&rows->lock);
    struct tic_extent *extent = row.extent < rows->count ? rows->extents[row.extent] : NULL;
    /* Another extent may have the number by now. */
    if (extent && gives(extent, shape) && row.row < extent->disk.rows &&
        has_bit(extent->used, row.row) && !has_bit(extent->busy, row.row)) {
        set_bit(extent->busy, row.row);
        set_bit(extent->keep, row.row); /* a sweep may be under way */
        set_bit(extent->shared, row.row);
        fine = true;
    }
    tic_unlock(&rows->lock);
    return fine;
}

void tic_rows_settle(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    if (row.extent == TIC_HELD_EXTENT)
        tic_held_settle_locked(rows, row.row);
    else
        clear_bit(rows->extents[row.extent]->busy, row.row);
    tic_unlock(&rows->lock);
}

void tic_rows_pin(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    if (row.extent == TIC_HELD_EXTENT)
        tic_held_pin_locked(rows, row.row);
    row = tic_held_real_locked(rows, row);
    if (row.extent == TIC_HELD_EXTENT) { /* its row is pinned when it has one */
        tic_unlock(&rows->lock);
        return;
    }
    struct tic_extent *extent = rows->extents[row.extent];
    if (!has_bit(extent->pinned, row.row)) {
        rows->pinned_bytes += tic_shape_bytes(&extent->shape);
        extent->pins++;
    }
    set_bit(extent->pinned, row.row);
    set_bit(extent->keep, row.row); /* a sweep may be under way */
    tic_unlock(&rows->lock);
}

static uint64_t read_field(struct tic_rows *rows, const uint64_t *field)
{
    tic_lock(&rows->lock);
    const uint64_t value = *field;
    tic_unlock(&rows->lock);
    return value;
}

uint64_t tic_rows_pinned(struct tic_rows *rows)
{
    return read_field(rows, &rows->pinned_bytes);
}

uint64_t tic_rows_sweeps(struct tic_rows *rows)
{
    return read_field(rows, &rows->sweeps);
}

static bool is_only_ours(const struct tic_extent *extent, uint64_t row)
{
    return has_bit(extent->used, row) && !has_bit(extent->busy, row) &&
           !has_bit(extent->pinned, row) && !has_bit(extent->shared, row);
}

uint64_t tic_rows_release(struct tic_rows *rows, struct tic_row row, uint64_t sweeps)
{
    uint64_t bytes = 0;

    tic_lock(&rows->lock);
    struct tic_extent *extent = row.extent < rows->count ? rows->extents[row.extent] : NULL;
    if (sweeps == rows->sweeps && extent && row.row < extent->disk.rows &&
        is_only_ours(extent, row.row)) {
        clear_bit(extent->used, row.row);
        clear_bit(extent->keep, row.row);
        extent->hint = row.row / 64;
        extent->free++;
        bytes = tic_shape_bytes(&extent->shape);
    }
    tic_unlock(&rows->lock);
    return bytes;
}

uint64_t tic_rows_taken(struct tic_rows *rows)
{
    return read_field(rows, &rows->taken);
}

uint64_t tic_rows_left(struct tic_rows *rows)
{
    return read_field(rows, &rows->left);
}

int tic_rows_locate(struct tic_rows *rows, struct tic_row row, uint64_t bytes,
                    struct tic_place *place)
{
    int status = -ERANGE;
    tic_lock(&rows->lock);
    row = tic_held_real_locked(rows, row);
    struct tic_extent *extent = row.extent < rows->count ? rows->extents[row.extent] : NULL;
    if (extent && row.row < extent->disk.rows && tic_shape_bytes(&extent->shape) == bytes) {
        *place = tic_payload_place(&extent->disk, row.row, extent->fd);
        status = 0;
    }
    tic_unlock(&rows->lock);
    return status;
}

int tic_rows_extent(struct tic_rows *rows, struct tic_row row, struct tic_line_extent *extent)
{
    tic_lock(&rows->lock);
    row = tic_held_real_locked(rows, row);
    bool known = row.extent < rows->count && !tic_extent_is_retired(rows->extents[row.extent]) &&
                 row.row < rows->extents[row.extent]->disk.rows;
    if (known)
        *extent = rows->extents[row.extent]->disk;
    tic_unlock(&rows->lock);
    return known ? 0 : -ERANGE;
}

static bool is_at(const struct tic_extent *extent, uint64_t segment, uint64_t offset,
                  uint64_t bytes, uint32_t *row)
{
    if (extent->disk.segment != segment || offset < extent->disk.offset || bytes == 0 ||
        tic_shape_bytes(&extent->shape) != bytes || (offset - extent->disk.offset) % bytes != 0 ||
        (offset - extent->disk.offset) / bytes >= extent->disk.rows)
        return false;
    *row = (uint32_t)((offset - extent->disk.offset) / bytes);
    return true;
}

int tic_rows_find(struct tic_rows *rows, uint64_t segment, uint64_t offset, uint64_t bytes,
                  struct tic_row *row)
{
    int status = -ERANGE;
    tic_lock(&rows->lock);
    for (unsigned long k = 0; k < rows->count && status; k++) {
        unsigned long i = (rows->found + k) % rows->count;
        if (!is_at(rows->extents[i], segment, offset, bytes, &row->row))
            continue;
        row->extent = (uint32_t)i;
        rows->found = i;
        status = 0;
    }
    tic_unlock(&rows->lock);
    return status;
}

struct tic_row tic_rows_real(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    row = tic_held_real_locked(rows, row);
    tic_unlock(&rows->lock);
    return row;
}

uint64_t tic_rows_bytes(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    row = tic_held_real_locked(rows, row);
    struct tic_extent *extent = row.extent < rows->count ? rows->extents[row.extent] : NULL;
    uint64_t bytes = extent ? tic_shape_bytes(&extent->shape) : tic_held_bytes_locked(rows, row);
    tic_unlock(&rows->lock);
    return bytes;
}

static void mark_locked(struct tic_rows *rows, struct tic_row row) TIC_REQUIRES(rows->lock)
{
    /* What is being copied may have lost its row, and its extent, before anybody knew. */
    if (row.extent < rows->count && row.row < rows->extents[row.extent]->disk.rows)
        set_bit(rows->extents[row.extent]->keep, row.row);
}

void tic_rows_sweep_begin(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    for (unsigned long i = 0; i < rows->count; i++) {
        struct tic_extent *extent = rows->extents[i];
        for (size_t word = 0; word < words_of(extent); word++)
            extent->keep[word] = extent->busy[word] | extent->pinned[word];
    }
    rows->taken = 0;
    rows->sweeps++;
    for (uint32_t i = 0; i < rows->held_count; i++)
        mark_locked(rows, tic_held_sweep_begin_locked(rows, i));
    tic_unlock(&rows->lock);
}

void tic_rows_mark(struct tic_rows *rows, struct tic_row row)
{
    tic_lock(&rows->lock);
    mark_locked(rows, tic_held_mark_locked(rows, row));
    tic_unlock(&rows->lock);
}

static void sweep_extent_locked(struct tic_rows *rows, struct tic_extent *extent)
{
    uint64_t top = 0;

    if (tic_extent_is_retired(extent))
        return;
    extent->free = extent->disk.rows;
    for (size_t word = 0; word < words_of(extent); word++) {
        uint64_t used = extent->used[word] = extent->keep[word];
        extent->free -= (uint64_t)__builtin_popcountll(used);
        top = used ? word * 64 + 64 - (uint64_t)__builtin_clzll(used) : top;
    }
    if (top > extent->top) { /* of a run before */
        rows->touched += (top - extent->top) * tic_shape_bytes(&extent->shape);
        extent->top = top;
    }
    rows->left += (extent->disk.rows - extent->free) * tic_shape_bytes(&extent->shape);
}

void tic_rows_sweep_end(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    rows->left = 0;
    for (unsigned long i = 0; i < rows->count; i++)
        sweep_extent_locked(rows, rows->extents[i]);
    tic_held_sweep_end_locked(rows);
    rows->sweeps++;
    tic_unlock(&rows->lock);
}

int tic_rows_table(struct tic_rows *rows, struct tic_line_extent **table, size_t *count)
{
    tic_lock(&rows->lock);
    unsigned long extents = rows->count;
    struct tic_line_extent *copy = calloc(extents ? extents : 1, sizeof(*copy));
    for (unsigned long i = 0; copy && i < extents; i++)
        copy[i] = rows->extents[i]->disk;
    tic_unlock(&rows->lock);
    if (!copy)
        return -ENOMEM;
    *table = copy;
    *count = extents;
    return 0;
}
