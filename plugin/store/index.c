/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index: the values that the next line names, and the blocks that hold them on disk. */
#include "store/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/blocks.h"

/* Up to so many blocks the values stand in the line itself. */
enum { FEW_BLOCKS = 4 };

/* Values of as many consecutive ids as fit into a block on disk. */
struct tic_index_block {
    struct tic_line_value *values; /* by id; those that are not there have TIC_NO_EXTENT; or NULL */
    uint32_t present;
    bool changed;               /* since it was saved */
    bool saved;                 /* the next field says where */
    struct tic_line_block disk; /* its row is the index's own: no sweep frees it while marked */
};

static uint32_t per_block(void)
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

/* The line before still refers to the row. */
static int drop(struct tic_index *index, struct tic_row row)
{
    void *grown = tic_grow(index->dropped, &index->dropped_capacity, index->dropped_count + 1,
                           sizeof(*index->dropped));
    if (!grown)
        return -ENOMEM;
    index->dropped = grown;
    index->dropped[index->dropped_count++] = (struct tic_dropped_row){row, 0};
    return 0;
}

static int reserve_blocks(struct tic_index *index, unsigned long count)
{
    if (count <= index->count)
        return 0;
    struct tic_index_block *grown =
        tic_grow(index->blocks, &index->capacity, count, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + index->count, 0, (count - index->count) * sizeof(*grown));
    index->blocks = grown;
    index->count = count;
    return 0;
}

/* The place of a handle's value, made at need. NULL when out of memory. */
static struct tic_line_value *make_place(struct tic_index *index, uint64_t id,
                                         struct tic_index_block **block)
{
    const uint32_t per = per_block();

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
    int status = was ? drop(index, (struct tic_row){place->extent, place->row}) : 0;

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
    const uint32_t per = per_block();

    if (id / per >= index->count || !index->blocks[id / per].values)
        return NULL;
    const struct tic_line_value *value = &index->blocks[id / per].values[id % per];
    return value->extent == TIC_NO_EXTENT ? NULL : value;
}

int tic_index_remove(struct tic_index *index, uint64_t id)
{
    static const struct tic_line_value none = {.extent = TIC_NO_EXTENT};
    const struct tic_line_value *value = tic_index_find(index, id);
    struct tic_index_block *block = value ? &index->blocks[id / per_block()] : NULL;

    return value ? replace(index, block, &block->values[id % per_block()], &none) : 0;
}

int tic_index_load(struct tic_index *index, const struct tic_line *line)
{
    int status = 0;

    for (size_t i = 0; i < line->value_count && status == 0; i++)
        status = tic_index_set(index, &line->values[i]);
    return status;
}

/* ---- into a line ---------------------------------------------------------------------------- */

/* The values of a block without gaps; their number. */
static uint32_t gather(const struct tic_index_block *block, struct tic_line_value *values)
{
    const uint32_t per = per_block();
    uint32_t count = 0;

    for (uint32_t i = 0; block->values && i < per; i++)
        if (block->values[i].extent != TIC_NO_EXTENT)
            values[count++] = block->values[i];
    return count;
}

static int write_values(const struct tic_index *index, struct tic_line *line)
{
    line->values = calloc(index->values + 1, sizeof(*line->values));
    if (!line->values)
        return -ENOMEM;
    for (unsigned long i = 0; i < index->count; i++)
        line->value_count += gather(&index->blocks[i], line->values + line->value_count);
    return 0;
}

static int save_block(struct tic_index *index, struct tic_store *store,
                      struct tic_index_block *block)
{
    struct tic_line_value *values = calloc(per_block(), sizeof(*values));
    struct tic_row old = {block->disk.extent, block->disk.row};
    int status = values ? 0 : -ENOMEM;

    if (status == 0 && block->saved)
        status = drop(index, old);
    block->saved = false;
    if (status == 0 && block->present > 0) {
        status =
            tic_block_save(store, TIC_TABLE_VALUES, values, gather(block, values), &block->disk);
        block->saved = status == 0;
    }
    if (block->saved) /* from now on it is marked */
        tic_rows_settle(&store->rows, (struct tic_row){block->disk.extent, block->disk.row});
    block->changed = status != 0;
    free(values);
    return status;
}

static int save_changed(struct tic_index *index, struct tic_store *store)
{
    uint64_t changed = 0;

    for (unsigned long i = 0; i < index->count; i++)
        changed += index->blocks[i].changed && index->blocks[i].present > 0;
    int status = changed > 0 ? tic_block_provide(store, TIC_TABLE_VALUES, changed) : 0;
    for (unsigned long i = 0; i < index->count && status == 0; i++)
        if (index->blocks[i].changed)
            status = save_block(index, store, &index->blocks[i]);
    return status;
}

int tic_index_write(struct tic_index *index, struct tic_store *store, struct tic_line *line)
{
    if (index->count <= FEW_BLOCKS)
        return write_values(index, line);
    int status = save_changed(index, store);
    struct tic_line_block *grown =
        status ? NULL : realloc(line->blocks, (line->block_count + index->count) * sizeof(*grown));
    if (!grown)
        return status ? status : -ENOMEM;
    line->blocks = grown;
    for (unsigned long i = 0; i < index->count; i++)
        if (index->blocks[i].saved)
            line->blocks[line->block_count++] = index->blocks[i].disk;
    return 0;
}

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
    const uint32_t per = per_block();

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
