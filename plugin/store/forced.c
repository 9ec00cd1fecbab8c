/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forced checkpoints on disk. */
#include "store/forced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/failpoint.h"

struct row {
    uint64_t checksum; /* XXH3-64 of the rest */
    struct tic_forced forced;
};

/* No data of an application has this shape: its interfaces have less dimensions, or more elements.
 */
static const struct tic_shape row_shape = {sizeof(struct row), TIC_MAX_DIMS, {1, 1, 1, 1}};

static uint64_t checksum_of(const struct row *row)
{
    return XXH3_64bits(&row->forced, sizeof(row->forced));
}

int tic_forced_provide(struct tic_store *store)
{
    struct tic_demand demand = {row_shape, TIC_FORCED_ROWS};

    if (tic_rows_available(&store->rows, &row_shape) >= TIC_FORCED_ROWS / 2)
        return 0;
    return tic_store_provide(store, &demand, 1);
}

int tic_forced_describe(struct tic_store *store, const struct tic_saved *saved,
                        struct tic_forced_output *output)
{
    struct tic_line_extent extent;
    int status = tic_rows_extent(&store->rows, saved->row, &extent);

    if (status)
        return status;
    output->bytes = tic_rows_bytes(&store->rows, saved->row);
    output->checksum = saved->checksum;
    output->segment = extent.segment;
    output->offset = extent.offset + saved->row.row * output->bytes;
    return 0;
}

int tic_forced_write(struct tic_store *store, const struct tic_forced *forced, struct tic_row *row)
{
    struct row content = {.forced = *forced};
    struct tic_layout layout = {
        .shape = row_shape, .base = (char *)&content, .stride = {1, 1, 1, 1}};
    struct tic_saved saved;

    content.checksum = checksum_of(&content);
    int status = tic_store_save(store, &layout, &saved);
    *row = saved.row;
    if (status == 0)
        tic_failpoint(TIC_FAIL_FORCED_WRITTEN);
    return status;
}

/* ---- recovery ------------------------------------------------------------------------------- */

static bool is_ours(const struct tic_line_extent *extent)
{
    struct tic_shape shape = tic_line_extent_shape(extent);

    return tic_shape_equal(&shape, &row_shape);
}

/* True when the visitor ends the walk. */
static bool walk_extent(int fd, const struct tic_line_extent *extent, tic_forced_visit visit,
                        void *arg)
{
    struct row row;

    for (uint64_t i = 0; i < extent->rows; i++) {
        if (pread(fd, &row, sizeof(row), (off_t)(extent->offset + i * sizeof(row))) !=
            (ssize_t)sizeof(row))
            return false;
        if (row.checksum == checksum_of(&row) && row.forced.count > 0 &&
            row.forced.count <= TIC_FORCED_OUTPUTS && visit(arg, &row.forced))
            return true;
    }
    return false;
}

int tic_forced_walk(struct tic_store *store, const struct tic_line *line, tic_forced_visit visit,
                    void *arg)
{
    for (size_t i = 0; i < line->extent_count; i++) {
        if (!is_ours(&line->extents[i]))
            continue;
        int fd = tic_store_peek_segment(store, line->extents[i].segment);
        if (fd < 0)
            return fd;
        bool ended = walk_extent(fd, &line->extents[i], visit, arg);
        close(fd);
        if (ended)
            return 0;
    }
    return 0;
}

char *tic_forced_read(struct tic_store *store, const struct tic_forced_output *output)
{
    int fd = tic_store_peek_segment(store, output->segment);
    char *bytes = fd >= 0 && output->bytes > 0 ? malloc(output->bytes) : NULL;
    struct tic_layout layout = {
        .shape = {1, 1, {output->bytes, 1, 1, 1}}, .base = bytes, .stride = {1}};

    uint64_t checksum;

    if (bytes && (tic_layout_read(&layout, fd, (off_t)output->offset, &checksum) != 0 ||
                  checksum != output->checksum)) {
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}
