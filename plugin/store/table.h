/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of a line whose entries may lie in blocks: rows of payload that later lines share, so that
 * a line costs what is new in it. The numbers and the bytes are on disk. */
#pragma once

#include <stdbool.h>

#include "store/line.h"

/* A field of an entry, as it lies in memory. On disk fields follow each other without gaps. */
struct tic_field {
    const char *name;
    size_t offset;
    char type; /* 'U' 64-bit, 'u' 32-bit unsigned, 'I' 64-bit signed */
};

#define TIC_FIELD_TYPE_U64 'U'
#define TIC_FIELD_TYPE_U32 'u'
#define TIC_FIELD_TYPE_I64 'I'
#define TIC_FIELD_ROW(S, text, member, type)                                                       \
    {text, offsetof(struct S, member), TIC_FIELD_TYPE_##type},

struct tic_table {
    const struct tic_field *fields; /* ends with a NULL name */
    size_t item;                    /* bytes of an entry in memory */
    size_t array, count;            /* offsets of the members of struct tic_line */
    size_t bytes;                   /* of a block */
};

static inline size_t tic_fields_size(const struct tic_field *fields)
{
    size_t size = 0;
    for (const struct tic_field *f = fields; f->name; f++)
        size += f->type == 'u' ? 4 : 8;
    return size;
}

/* The table of this number, or NULL. */
const struct tic_table *tic_table_find(uint32_t number);
/* How many entries a block holds at most. */
uint32_t tic_table_capacity(const struct tic_table *table);
/* The shape of the rows that hold its blocks. */
struct tic_shape tic_table_shape(const struct tic_table *table);
/* Entries to the bytes of a block, and back. What a block does not use is zero. */
void tic_table_encode(const struct tic_table *table, const void *items, uint32_t count,
                      unsigned char *block);
void tic_table_decode(const struct tic_table *table, const unsigned char *block, uint32_t count,
                      void *items);

/* ---- the part of a line that is one table --------------------------------------------------- */
static inline void **tic_table_array(const struct tic_table *table, struct tic_line *line)
{
    return (void **)((char *)line + table->array);
}
static inline size_t *tic_table_count(const struct tic_table *table, struct tic_line *line)
{
    return (size_t *)((char *)line + table->count);
}
/* How many entries of this table lie in the blocks of a line. */
uint64_t tic_table_in_blocks(const struct tic_line *line, uint32_t number);
