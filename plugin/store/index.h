/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index: the values that the next line names, as far as they are known, and the blocks that
 * hold them on disk. Only blocks in which something changed are written again, so a line costs what
 * changed. Committing thread only. */
#pragma once

#include <stdbool.h>

#include "store/line.h"
#include "store/rows.h"

struct tic_store;

/* Values of as many consecutive ids as fit into a block on disk. */
struct tic_index_block {
    struct tic_line_value *values; /* by id; those that are not there have TIC_NO_EXTENT; or NULL */
    uint32_t present;
    bool changed;               /* since it was saved */
    bool saved;                 /* the next field says where */
    struct tic_line_block disk; /* its row is the index's own: no sweep frees it while marked */
};

struct tic_index {
    struct tic_index_block *blocks; /* of handle ids, ascending */
    unsigned long count, capacity;
    uint64_t values;       /* how many there are */
    struct tic_rows *rows; /* immutable after start: knows where held values were written to */
    /* Rows that the newest line refers to no more, but older ones that are kept still do. */
    struct tic_dropped_row *dropped;
    unsigned long dropped_count, dropped_capacity;
};

void tic_index_init(struct tic_index *index);
void tic_index_fini(struct tic_index *index);
/* Starts with what a complete line says. 0 or -ENOMEM. */
int tic_index_load(struct tic_index *index, const struct tic_line *line);

/* The line is committed; `keep` lines are kept: what none of them needs any more is forgotten. Not
 * before: if a commit fails, the oldest line stays. */
void tic_index_committed(struct tic_index *index, unsigned keep);
/* The value of a handle in this line; and that it has none. 0, -ENOMEM, or -EIO: it is held in
 * memory and not written yet. */
int tic_index_set(struct tic_index *index, const struct tic_line_value *value);
int tic_index_remove(struct tic_index *index, uint64_t id);
/* The value, or NULL. */
const struct tic_line_value *tic_index_find(const struct tic_index *index, uint64_t id);
/* Puts the values into the line: few of them themselves, else their blocks, after those that it has
 * already. 0 or -errno. */
int tic_index_write(struct tic_index *index, struct tic_store *store, struct tic_line *line);

/* Blocks that lie in closed segments are written again, elsewhere, for the next line. */
void tic_index_leave_closed(struct tic_index *index);
/* Marks the rows of the lines that are kept; between tic_rows_sweep_begin and _end. */
void tic_index_mark(const struct tic_index *index, struct tic_rows *rows);

/* ---- for index_write.c ---------------------------------------------------------------------- */
/* Values of one block. */
uint32_t tic_index_per_block(void);
/* The line before still refers to the row. 0 or -ENOMEM. */
int tic_index_drop(struct tic_index *index, struct tic_row row);
