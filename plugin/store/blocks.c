/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks: writing them, and completing a line with what they hold. */
#include "store/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "store/sanity.h"

int tic_block_provide(struct tic_store *store, uint32_t number, uint64_t count)
{
    struct tic_demand demand = {tic_table_shape(tic_table_find(number)), count};

    return tic_store_provide(store, &demand, 1);
}

int tic_block_save(struct tic_store *store, uint32_t number, const void *items, uint32_t count,
                   struct tic_line_block *block)
{
    const struct tic_table *table = tic_table_find(number);
    struct tic_shape shape = tic_table_shape(table);
    char *bytes = malloc(table->bytes);
    struct tic_layout layout = tic_layout_packed(&shape, bytes);
    struct tic_saved saved;

    if (!bytes)
        return -ENOMEM;
    tic_table_encode(table, items, count, (unsigned char *)bytes);
    int status;
    do { /* somebody else may take the row */
        status = tic_block_provide(store, number, 1);
        status = status ? status : tic_store_save(store, &layout, &saved);
    } while (status == -EAGAIN);
    free(bytes);
    if (status)
        return status;
    *block =
        (struct tic_line_block){number, count, saved.row.extent, saved.row.row, saved.checksum};
    tic_failpoint(TIC_FAIL_BLOCK_WRITE);
    return 0;
}

/* ---- completing a line ---------------------------------------------------------------------- */

/* Entries of one table, in a growing array: a count from a file is not trusted before its bytes
 * were seen to be there. */
struct entries {
    const struct tic_table *table;
    char *items;
    unsigned long count, capacity;
};

static char *more_room(struct entries *entries, size_t count)
{
    int status = tic_reserve_bytes(&entries->items, &entries->capacity, entries->count + count,
                                   entries->table->item);

    return status ? NULL : entries->items + entries->count * entries->table->item;
}

/* Reads a block, whose row is known to be in the table of extents and to have its size. */
static int read_block(struct tic_store *store, const struct tic_line *line,
                      const struct tic_line_block *block, char *bytes)
{
    const struct tic_line_extent *extent = &line->extents[block->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    struct tic_layout layout = tic_layout_packed(&shape, bytes);
    int fd = tic_store_peek_segment(store, extent->segment);
    uint64_t checksum;

    if (fd < 0)
        return fd == -ENOENT ? -EBADMSG : fd;
    struct tic_place place = tic_payload_place(extent, block->row, fd);
    int status = tic_payload_read(store->h5, &place, &layout, &checksum);
    close(fd);
    if (status == -ENODATA || (status == 0 && checksum != block->checksum))
        status = -EBADMSG;
    return status;
}

static int read_blocks(struct tic_store *store, const struct tic_line *line, uint32_t number,
                       struct entries *entries)
{
    char *bytes = malloc(entries->table->bytes);
    int status = bytes ? 0 : -ENOMEM;

    for (size_t i = 0; i < line->block_count && status == 0; i++) {
        const struct tic_line_block *block = &line->blocks[i];
        if (block->table != number)
            continue;
        status = read_block(store, line, block, bytes);
        char *to = status ? NULL : more_room(entries, block->count);
        if (status == 0 && !to)
            status = -ENOMEM;
        if (status == 0) {
            tic_table_decode(entries->table, (unsigned char *)bytes, block->count, to);
            entries->count += block->count;
        }
    }
    free(bytes);
    return status;
}

/* What lies in blocks comes first, then the tail. */
static int complete_table(struct tic_store *store, struct tic_line *line, uint32_t number)
{
    struct entries entries = {.table = tic_table_find(number)};
    void **tail = tic_table_array(entries.table, line);
    size_t *count = tic_table_count(entries.table, line);

    if (tic_table_in_blocks(line, number) == 0)
        return 0;
    int status = read_blocks(store, line, number, &entries);
    char *to = status ? NULL : more_room(&entries, *count);
    if (!to) {
        free(entries.items);
        return status ? status : -ENOMEM;
    }
    if (*count > 0)
        memcpy(to, *tail, *count * entries.table->item);
    free(*tail);
    *tail = entries.items;
    *count += entries.count;
    return 0;
}

int tic_store_complete(struct tic_store *store, struct tic_line *line)
{
    int status = 0;

    for (uint32_t number = 1; number < TIC_TABLES && status == 0; number++)
        status = complete_table(store, line, number);
    status = status ? status : tic_line_adopt_begun(line);
    if (status == 0 && !tic_line_tables_are_sane(line))
        status = -EBADMSG;
    return status;
}

int tic_store_complete_rows(struct tic_store *store, struct tic_line *line)
{
    static const uint32_t numbers[] = {TIC_TABLE_VALUES, TIC_TABLE_ACQUIRES, TIC_TABLE_READS};
    int status = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && status == 0; i++)
        status = complete_table(store, line, numbers[i]);
    return status;
}
