/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: segments are formatted for the rows that are wanted, opened, and removed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/space.h"
#include "store/store.h"
enum { MIN_ROWS = 4, MOST_BYTES_MORE = 1 << 26 };
/* In one node of a B-tree of HDF5. */
enum { MOST_CHUNKS = 65534 };
enum { NAME_SIZE = 64 };

/* As many rows as are missing; more of a shape that runs short again and again, so that there are
 * few segments, however many values come one by one. */
static uint64_t rows_to_format(struct tic_store *store, const struct tic_demand *demand,
                               uint64_t available)
{
    uint64_t bytes = tic_shape_bytes(&demand->shape), rows = demand->rows - available;
    uint64_t more = tic_rows_total(&store->rows, &demand->shape) / 2;

    if (more > MOST_BYTES_MORE / bytes)
        more = MOST_BYTES_MORE / bytes;
    if (more < MIN_ROWS && bytes < (1 << 20))
        more = MIN_ROWS;
    return rows > more ? rows : more;
}

/* Are values of this shape worth it, and is compression wanted? */
static bool compresses(const struct tic_store *store, const struct tic_shape *shape)
{
    const uint64_t bytes = tic_shape_bytes(shape);

    return store->level > 0 && bytes >= TIC_COMPRESS_LEAST && bytes <= UINT32_MAX;
}

static size_t plan_extents(struct tic_store *store, const struct tic_demand *demands, size_t count,
                           struct tic_line_extent *extents)
{
    size_t planned = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t available = tic_rows_available(&store->rows, &demands[i].shape);
        if (available >= demands[i].rows)
            continue;
        struct tic_line_extent *extent = &extents[planned];
        memset(extent, 0, sizeof(*extent));
        extent->segment = store->next_segment;
        extent->dataset = (uint32_t)planned++;
        extent->element_size = demands[i].shape.element_size;
        extent->ndim = demands[i].shape.ndim;
        memcpy(extent->dims, demands[i].shape.dims, sizeof(extent->dims));
        extent->type = demands[i].shape.type;
        extent->rows = rows_to_format(store, &demands[i], available);
        extent->keys = compresses(store, &demands[i].shape);
        if (extent->keys && extent->rows > MOST_CHUNKS)
            extent->rows = MOST_CHUNKS; /* the others are asked for when they are missed */
    }
    return planned;
}

static int format_segment(struct tic_store *store, struct tic_line_extent *extents, size_t count)
{
    char name[NAME_SIZE];
    uint64_t number = store->next_segment++;

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process, (unsigned long long)number);
    int fd = tic_segment_create(store->directory, name, store->h5, extents, count);
    if (fd < 0)
        return fd;
    int status = tic_store_add_segment(store, number, fd);
    if (status) {
        close(fd);
        unlinkat(store->directory, name, 0);
        return status;
    }
    store->nameless = true;
    store->formatted++;
    tic_failpoint(TIC_FAIL_SEGMENT_FORMAT);
    return fd;
}

int tic_store_provide(struct tic_store *store, const struct tic_demand *demands, size_t count)
{
    struct tic_line_extent *extents = calloc(count ? count : 1, sizeof(*extents));
    if (!extents)
        return -ENOMEM;
    size_t planned = plan_extents(store, demands, count, extents);
    int status = planned ? tic_space_check(store, extents, planned) : 0;
    int fd = planned && status == 0 ? format_segment(store, extents, planned) : status;
    status = fd < 0 ? fd : 0;
    for (size_t i = 0; i < planned && status == 0; i++) {
        long index = tic_rows_add(&store->rows, &extents[i], fd);
        status = index < 0 ? (int)index : 0;
    }
    free(extents);
    return status;
}
