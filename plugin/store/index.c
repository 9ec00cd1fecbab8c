/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index: the values that the next line names, and the blocks that hold them on disk. */
#include "store/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/table.h"

uint32_t tic_index_per_block(void)
{
    return tic_table_capacity(tic_table_find(TIC_TABLE_VALUES));
}

void tic_index_init(struct tic_index *index)
{
    memset(index, 0, sizeof(*index));
}

void tic_index_fini(struct tic_index *index)
{
    for (unsigned long i = 0; i < index->count; i++)
        free(index->blocks[i].values);
    free(index->blocks);
    free(index->dropped);
    tic_index_init(index);
}

struct tic_dropped_row {
    struct tic_row row;
    unsigned age; /* lines since then */
};

void tic_index_committed(struct tic_index *index, unsigned keep)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < index->dropped_count; i++) {
        struct tic_dropped_row *dropped = &index->dropped[i];
        if (++dropped->age < keep)
            index->dropped[kept++] = *dropped;
    }
    index->dropped_count = kept;
}

int tic_index_drop(struct tic_index *index, struct tic_row row)
{
    return tic_append(index->dropped, index->dropped_count, index->dropped_capacity,
                      &(struct tic_dropped_row){row, 0});
}

static int reserve_blocks(struct tic_index *index, unsigned long count)
{
    if (count <= index->count)
        return 0;
    if (tic_reserve(index->blocks, index->capacity, count) != 0)
        return -ENOMEM;
    memset(index->blocks + index->count, 0, (count - index->count) * sizeof(*index->blocks));
    index->count = count;
    return 0;
}

/* The place of a handle's value, made at need. NULL when out of memory. */
static struct tic_line_value *make_place(struct tic_index *index, uint64_t id,
                                         struct tic_index_block **block)
{
    const uint32_t per = tic_index_per_block();

    if (reserve_blocks(index, id / per + 1) != 0)
        return NULL;
    *block = &index->blocks[id / per];
    if (!(*block)->values) {
        (*block)->values = malloc(per * sizeof(struct tic_line_value));
        for (uint32_t i = 0; (*block)->values && i < per; i++)
            (*block)->values[i] = (struct tic_line_value){.extent = TIC_NO_EXTENT};
    }
    return (*block)->values ? &(*block)->values[id % per] : NULL;
}

static bool is_same(const struct tic_line_value *a, const struct tic_line_value *b)
{
    return a->version == b->version && a->checksum == b->checksum && a->extent == b->extent &&
           a->row == b->row && a->gone == b->gone;
}

/* What was there leaves the index: the line before still has it. */
static int replace(struct tic_index *index, struct tic_index_block *block,
                   struct tic_line_value *place, const struct tic_line_value *value)
{
    bool was = place->extent != TIC_NO_EXTENT, is = value->extent != TIC_NO_EXTENT;
    int status = was ? tic_index_drop(index, (struct tic_row){place->extent, place->row}) : 0;

    if (status)
        return status;
    *place = *value;
    block->present += (uint32_t)is - (uint32_t)was;
    index->values += (uint64_t)is - (uint64_t)was;
    block->changed = true;
    return 0;
}

int tic_index_set(struct tic_index *index, const struct tic_line_value *value)
{
    struct tic_index_block *block;
    struct tic_line_value *place = make_place(index, value->id, &block), real = *value;

    if (!place)
        return -ENOMEM;
    if (real.extent == TIC_HELD_EXTENT) {
        struct tic_row row = tic_rows_real(index->rows, (struct tic_row){real.extent, real.row});
        real.extent = row.extent;
        real.row = row.row;
    }
    if (real.extent == TIC_HELD_EXTENT)
        return -EIO;
    return place->extent != TIC_NO_EXTENT && is_same(place, &real)
               ? 0
               : replace(index, block, place, &real);
}

const struct tic_line_value *tic_index_find(const struct tic_index *index, uint64_t id)
{
    const uint32_t per = tic_index_per_block();

    if (id / per >= index->count || !index->blocks[id / per].values)
        return NULL;
    const struct tic_line_value *value = &index->blocks[id / per].values[id % per];
    return value->extent == TIC_NO_EXTENT ? NULL : value;
}

int tic_index_remove(struct tic_index *index, uint64_t id)
{
    static const struct tic_line_value none = {.extent = TIC_NO_EXTENT};
    const struct tic_line_value *value = tic_index_find(index, id);
    struct tic_index_block *block = value ? &index->blocks[id / tic_index_per_block()] : NULL;

    return value ? replace(index, block, &block->values[id % tic_index_per_block()], &none) : 0;
}

int tic_index_load(struct tic_index *index, const struct tic_line *line)
{
    int status = 0;

    for (size_t i = 0; i < line->value_count && status == 0; i++)
        status = tic_index_set(index, &line->values[i]);
    return status;
}

/* ---- into a line ---------------------------------------------------------------------------- */

void tic_index_leave_closed(struct tic_index *index)
{
    for (unsigned long i = 0; i < index->count; i++) {
        struct tic_index_block *block = &index->blocks[i];
        struct tic_row row = {block->disk.extent, block->disk.row};
        if (block->saved && tic_rows_is_closed(index->rows, row))
            block->changed = true;
    }
}

void tic_index_mark(const struct tic_index *index, struct tic_rows *rows)
{
    const uint32_t per = tic_index_per_block();

    for (unsigned long i = 0; i < index->count; i++) {
        const struct tic_index_block *block = &index->blocks[i];
        for (uint32_t k = 0; block->values && k < per; k++)
            if (block->values[k].extent != TIC_NO_EXTENT)
                tic_rows_mark(rows,
                              (struct tic_row){block->values[k].extent, block->values[k].row});
        if (block->saved)
            tic_rows_mark(rows, (struct tic_row){block->disk.extent, block->disk.row});
    }
    for (unsigned long i = 0; i < index->dropped_count; i++)
        tic_rows_mark(rows, index->dropped[i].row);
}
