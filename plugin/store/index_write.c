/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index: its values go into a line, or into blocks that many lines share. */
#include <errno.h>
#include <stdlib.h>

#include "store/blocks.h"
#include "store/index.h"
#include "store/store.h"

/* Up to so many blocks the values stand in the line itself. */
enum { FEW_BLOCKS = 4 };

/* The values of a block without gaps; their number. */
static uint32_t gather(const struct tic_index_block *block, struct tic_line_value *values)
{
    const uint32_t per = tic_index_per_block();
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
    struct tic_line_value *values = calloc(tic_index_per_block(), sizeof(*values));
    struct tic_row old = {block->disk.extent, block->disk.row};
    int status = values ? 0 : -ENOMEM;

    if (status == 0 && block->saved)
        status = tic_index_drop(index, old);
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
