/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the numbers of a line that was read make sense. */
#include "store/sanity.h"

#include <stdlib.h>
#include <string.h>

#include "store/data_names.h"
#include "store/payload.h"
#include "store/table.h"

bool tic_extent_is_sane(const struct tic_line_extent *extent)
{
    uint64_t bytes = extent->element_size, end, keys;

    if (extent->ndim < 1 || extent->ndim > TIC_MAX_DIMS || extent->element_size == 0 ||
        extent->rows == 0 || extent->rows >= UINT32_MAX || extent->dataset >= UINT16_MAX)
        return false;
    for (unsigned i = 0; i < TIC_MAX_DIMS; i++) {
        if (extent->dims[i] == 0 || (i >= extent->ndim && extent->dims[i] != 1))
            return false;
        if (__builtin_mul_overflow(bytes, extent->dims[i], &bytes) || bytes > INT64_MAX)
            return false;
    }
    return !__builtin_mul_overflow(bytes, extent->rows, &end) &&
           !__builtin_add_overflow(end, extent->offset, &end) && end <= INT64_MAX &&
           !__builtin_add_overflow(extent->rows * tic_chunk_key_stride(extent->ndim), extent->keys,
                                   &keys) &&
           keys <= INT64_MAX;
}

static bool row_is_sane(const struct tic_line *line, uint32_t extent, uint32_t row)
{
    return extent < line->extent_count && row < line->extents[extent].rows;
}

static bool block_is_sane(const struct tic_line *line, const struct tic_line_block *block)
{
    const struct tic_table *table = tic_table_find(block->table);

    if (!table || block->count == 0 || block->count > tic_table_capacity(table) ||
        !row_is_sane(line, block->extent, block->row))
        return false;
    struct tic_shape shape = tic_line_extent_shape(&line->extents[block->extent]);
    return tic_shape_bytes(&shape) == table->bytes;
}

static bool text_is_sane(const char *text, size_t size)
{
    return size == 0 || text[size - 1] == '\0';
}

static bool kept_is_sane(const struct tic_line *line)
{
    size_t functions = 0, buffers = 0, bytes = 0;

    for (size_t i = 0; i < line->functions.size; i++)
        functions += line->functions.text[i] == '\0';
    for (size_t i = 0; i < line->kept_count; i++) {
        const struct tic_line_kept *task = &line->kept[i];
        if (task->codelet >= functions ||
            (task->callback != UINT32_MAX && task->callback >= functions))
            return false;
        buffers += task->buffers; /* neither sum can overflow: counts are 32 bits */
        bytes += task->arguments;
    }
    return text_is_sane(line->functions.text, line->functions.size) &&
           text_is_sane(line->known.files.text, line->known.files.size) &&
           buffers == line->buffer_count && bytes == line->bytes.count;
}

/* A line of a commit point: the bytes of its variables are there. */
static bool point_is_sane(const struct tic_line_point *point)
{
    uint64_t bytes = 0;

    if (!text_is_sane(point->names.text, point->names.size))
        return false;
    for (size_t at = 0, i = 0; at < point->names.size; i++) {
        if (i > 0)
            bytes += strtoull(point->names.text + at, NULL, 10);
        at += strlen(point->names.text + at) + 1;
    }
    return bytes == point->bytes.count && (point->number == 0) == (point->names.size == 0);
}

bool tic_line_is_sane(const struct tic_line *line)
{
    for (size_t i = 0; i < line->extent_count; i++)
        if (!tic_extent_is_sane(&line->extents[i]))
            return false;
    for (size_t i = 0; i < line->block_count; i++)
        if (!block_is_sane(line, &line->blocks[i]))
            return false;
    for (size_t i = 0; i < line->done_count; i++)
        if (line->done[i].first > line->done[i].last || line->done[i].last >= INT32_MAX ||
            (i > 0 && line->done[i].first <= line->done[i - 1].last + 1))
            return false;
    for (size_t i = 0; i < line->look_count; i++)
        if (line->looks[i].part > 0 &&
            (uint64_t)line->looks[i].part * TIC_LOOK_BYTES >= line->looks[i].bytes)
            return false;
    return text_is_sane(line->arguments.text, line->arguments.size) && kept_is_sane(line) &&
           point_is_sane(&line->point) && tic_data_names_are_sane(&line->known.names);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* False also when out of memory. */
static bool has_nothing_twice(const void *items, size_t count, size_t item, tic_comparison compare)
{
    char *sorted = count > 1 ? malloc(count * item) : NULL;
    bool fine = count <= 1 || sorted;

    if (sorted) {
        memcpy(sorted, items, count * item);
        qsort(sorted, count, item, compare);
    }
    for (size_t i = 1; i < count && fine; i++)
        fine = compare(sorted + (i - 1) * item, sorted + i * item) != 0;
    free(sorted);
    return fine;
}

static bool rows_are_sane(const struct tic_line *line)
{
    for (size_t i = 0; i < line->value_count; i++)
        if (!row_is_sane(line, line->values[i].extent, line->values[i].row))
            return false;
    for (size_t i = 0; i < line->acquire_count; i++)
        if (line->acquires[i].recorded &&
            !row_is_sane(line, line->acquires[i].extent, line->acquires[i].row))
            return false;
    for (size_t i = 0; i < line->read_count; i++)
        if (!row_is_sane(line, line->reads[i].extent, line->reads[i].row))
            return false;
    return true;
}

static bool history_is_sane(const struct tic_line *line)
{
    for (size_t i = 0; i < line->history_count; i++)
        if (line->history[i].kind == 0 || line->history[i].kind >= TIC_HISTORY_KINDS ||
            line->history[i].role >= TIC_HISTORY_ROLES)
            return false;
    return true;
}

bool tic_line_tables_are_sane(const struct tic_line *line)
{
    uint64_t end = line->done_count ? line->done[line->done_count - 1].last + 1 : 0;

    for (size_t i = 0; i < line->value_count; i++)
        if (line->values[i].id >= INT32_MAX ||
            (i > 0 && line->values[i].id <= line->values[i - 1].id))
            return false;
    return rows_are_sane(line) && history_is_sane(line) &&
           (line->point.number || line->signature_count >= end) &&
           line->signature_count <= INT32_MAX &&
           has_nothing_twice(line->reads, line->read_count, sizeof(*line->reads),
                             tic_line_by_read) &&
           has_nothing_twice(line->spawned, line->spawned_count, sizeof(*line->spawned),
                             tic_line_by_number) &&
           has_nothing_twice(line->kept_writes, line->kept_write_count, sizeof(*line->kept_writes),
                             tic_line_by_two_numbers);
}
