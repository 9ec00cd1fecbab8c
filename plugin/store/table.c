/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of a line whose entries may lie in blocks. */
#include "store/table.h"

#include <endian.h>
#include <string.h>

#include "store/schema.h"

#define BLOCK_FIELDS(number, S, array, count, bytes, FIELDS)                                       \
    static const struct tic_field array##_fields[] = {FIELDS(S, TIC_FIELD_ROW){NULL, 0, 0}};
TIC_BLOCK_TABLES(BLOCK_FIELDS)

/* By number. */
#define BLOCK_TABLE(number, S, array, count, bytes, FIELDS)                                        \
    [number] = {array##_fields, sizeof(struct S), offsetof(struct tic_line, array),                \
                offsetof(struct tic_line, count), bytes},
static const struct tic_table tables[TIC_TABLES] = {TIC_BLOCK_TABLES(BLOCK_TABLE)};

const struct tic_table *tic_table_find(uint32_t number)
{
    return number > 0 && number < TIC_TABLES ? &tables[number] : NULL;
}

uint32_t tic_table_capacity(const struct tic_table *table)
{
    return (uint32_t)(table->bytes / tic_fields_size(table->fields));
}

struct tic_shape tic_table_shape(const struct tic_table *table)
{
    return (struct tic_shape){1, 1, {table->bytes, 1, 1, 1}, 0};
}

void tic_table_encode(const struct tic_table *table, const void *items, uint32_t count,
                      unsigned char *block)
{
    unsigned char *at = block;

    for (uint32_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * table->item;
        for (const struct tic_field *f = table->fields; f->name; f++) {
            uint32_t narrow;
            uint64_t wide;
            if (f->type == 'u') {
                memcpy(&narrow, item + f->offset, sizeof(narrow));
                narrow = htole32(narrow);
                memcpy(at, &narrow, sizeof(narrow));
                at += sizeof(narrow);
            } else {
                memcpy(&wide, item + f->offset, sizeof(wide));
                wide = htole64(wide);
                memcpy(at, &wide, sizeof(wide));
                at += sizeof(wide);
            }
        }
    }
    memset(at, 0, table->bytes - (size_t)(at - block));
}

void tic_table_decode(const struct tic_table *table, const unsigned char *block, uint32_t count,
                      void *items)
{
    memset(items, 0, count * table->item);
    for (uint32_t i = 0; i < count; i++) {
        char *item = (char *)items + i * table->item;
        for (const struct tic_field *f = table->fields; f->name; f++) {
            uint32_t narrow;
            uint64_t wide;
            if (f->type == 'u') {
                memcpy(&narrow, block, sizeof(narrow));
                narrow = le32toh(narrow);
                memcpy(item + f->offset, &narrow, sizeof(narrow));
                block += sizeof(narrow);
            } else {
                memcpy(&wide, block, sizeof(wide));
                wide = le64toh(wide);
                memcpy(item + f->offset, &wide, sizeof(wide));
                block += sizeof(wide);
            }
        }
    }
}

uint64_t tic_table_in_blocks(const struct tic_line *line, uint32_t number)
{
    uint64_t entries = 0;

    for (size_t i = 0; i < line->block_count; i++)
        if (line->blocks[i].table == number)
            entries += line->blocks[i].count;
    return entries;
}
