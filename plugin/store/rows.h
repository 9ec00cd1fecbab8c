/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which payload row of which segment is free: a slab allocator on disk. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "store/arena.h"
#include "store/line.h"
#include "store/payload.h"

/* `extent` of a value that is held in memory, because it could not be written yet; see held.h. */
#define TIC_HELD_EXTENT (UINT32_MAX - 1)

struct tic_extent;
struct tic_held;

/* How much of a segment is in use. */
struct tic_use {
    uint64_t rows, bytes; /* that are not free */
    uint64_t touched;     /* bytes up to the last row of each extent that was ever in use (its top):
                             what lies behind takes no space on the disk */
    uint64_t pinned;      /* rows */
};
/* The place to add up the use of a segment, or NULL. */
typedef struct tic_use *(*tic_use_of)(void *arg, uint64_t segment);

struct tic_rows {
    struct tic_lock lock;
    struct tic_extent **extents; /* guarded by lock */
    unsigned long count, capacity;
    unsigned long retired; /* guarded by lock: extents whose number may be used again */
    uint64_t taken;        /* guarded by lock: rows taken since the last sweep */
    uint64_t sweeps;       /* guarded by lock: begun and ended; odd while one is under way */
    uint64_t left;         /* guarded by lock: bytes that the last sweep left in use */
    uint64_t pinned_bytes; /* guarded by lock */
    uint64_t touched;      /* guarded by lock: bytes up to the top of each extent; */
    uint64_t most;         /* guarded by lock: and so many of them there may be */
    unsigned long found;   /* guarded by lock: extent that was found last */
    struct tic_held *held; /* guarded by lock */
    unsigned long held_count, held_capacity;
    unsigned long held_next;    /* guarded by lock: no number below it is unused */
    unsigned long held_written; /* guarded by lock: values below it were written, or came later */
    bool held_stays;            /* guarded by lock: they cannot be written before the next line */
    struct tic_arena arena;     /* guarded by lock: memory of held values */
    uint64_t held_bytes;        /* guarded by lock: in memory now */
    uint64_t held_most;         /* and so many there may be; immutable after start */
    unsigned long images;       /* guarded by lock: held values that an image of the process has */
    uint64_t imaged;            /* guarded by lock: values that one had, in all */
    uint64_t image_least; /* bytes of such a value; 0: there are none; immutable after start */
    uint64_t image_part;  /* of the resident memory, a value is at least 1 / so many; 0: any part;
                             immutable after start */
};

/* Where a row is. */
struct tic_row {
    uint32_t extent;
    uint32_t row;
};

/* Where a saved value is. */
struct tic_saved {
    struct tic_row row;
    uint64_t checksum;
};

void tic_rows_init(struct tic_rows *rows);
void tic_rows_fini(struct tic_rows *rows);

/* Adds an extent whose file is open as fd (owned by the caller). Its index, or -ENOMEM. Without a
 * file (-1) it is retired from the start. */
long tic_rows_add(struct tic_rows *rows, const struct tic_line_extent *extent, int fd);
/* The same, behind all that are there. */
long tic_rows_append(struct tic_rows *rows, const struct tic_line_extent *extent, int fd);
/* Rows that are free for this shape. */
uint64_t tic_rows_available(struct tic_rows *rows, const struct tic_shape *shape);
/* Rows of this shape, free or not. */
uint64_t tic_rows_total(struct tic_rows *rows, const struct tic_shape *shape);
/* Takes a free row; it is busy, so no sweep frees it, until settled. -EAGAIN when none is free;
 * -EDQUOT when there is none that was ever in use, and no more may be. */
int tic_rows_take(struct tic_rows *rows, const struct tic_shape *shape, struct tic_row *row);
/* The row, if something lies in it and nobody is writing it or sharing it so, is busy until
 * tic_rows_settle, too: one more will refer to it. Any thread. */
bool tic_rows_share(struct tic_rows *rows, struct tic_row row, const struct tic_shape *shape);
/* The row's content is referenced from where a marker looks (or was given up). */
void tic_rows_settle(struct tic_rows *rows, struct tic_row row);
/* The row is never free again. */
void tic_rows_pin(struct tic_rows *rows, struct tic_row row);
/* No row is pinned any more. */
void tic_rows_unpin_all(struct tic_rows *rows);
/* Bytes in pinned rows. */
uint64_t tic_rows_pinned(struct tic_rows *rows);
/* Sweeps that have begun, and that have ended, in sum: odd while one is under way. */
uint64_t tic_rows_sweeps(struct tic_rows *rows);
/* The row was that of one value since so many sweeps, and nobody will read it again: it is free,
 * unless a sweep has come since, or it is pinned, or others share it. Its bytes, or 0. Any thread.
 */
uint64_t tic_rows_release(struct tic_rows *rows, struct tic_row row, uint64_t sweeps);
/* Rows taken since the last sweep. */
uint64_t tic_rows_taken(struct tic_rows *rows);
/* Bytes in rows that the last sweep left in use. */
uint64_t tic_rows_left(struct tic_rows *rows);
/* -ERANGE when there is no such row or its size differs. */
int tic_rows_locate(struct tic_rows *rows, struct tic_row row, uint64_t bytes,
                    struct tic_place *place);
/* Where a value that was held in memory is now; the row itself if it was not, or still is. */
struct tic_row tic_rows_real(struct tic_rows *rows, struct tic_row row);
/* The extent of a row. -ERANGE when there is no such row. */
int tic_rows_extent(struct tic_rows *rows, struct tic_row row, struct tic_line_extent *extent);
/* The row at this offset of this segment. -ERANGE when there is none of so many bytes. */
int tic_rows_find(struct tic_rows *rows, uint64_t segment, uint64_t offset, uint64_t bytes,
                  struct tic_row *row);
/* Size of a row, 0 when there is no such extent. */
uint64_t tic_rows_bytes(struct tic_rows *rows, struct tic_row row);
/* Mark and sweep: rows that are neither marked nor pinned nor busy nor taken since begin become
 * free. */
void tic_rows_sweep_begin(struct tic_rows *rows);
void tic_rows_mark(struct tic_rows *rows, struct tic_row row);
void tic_rows_sweep_end(struct tic_rows *rows);

/* ---- whole segments ------------------------------------------------------------------------- */
/* Adds what is in use of each extent to its segment. */
void tic_rows_count_use(struct tic_rows *rows, tic_use_of use_of, void *arg);
/* No row of a closed segment is taken any more, and its rows do not count. */
void tic_rows_close(struct tic_rows *rows, uint64_t segment, bool closed);
bool tic_rows_is_closed(struct tic_rows *rows, struct tic_row row);
/* If all rows of the segment are free: nobody gets one of them any more, and the numbers of its
 * extents are given to others. 0; -EBUSY when one is not free. */
int tic_rows_retire(struct tic_rows *rows, uint64_t segment);

/* So many bytes may be touched. */
void tic_rows_bound(struct tic_rows *rows, uint64_t most);
uint64_t tic_rows_touched(struct tic_rows *rows);

/* Copies the table of extents (malloc'ed). 0 or -ENOMEM. */
int tic_rows_table(struct tic_rows *rows, struct tic_line_extent **table, size_t *count);
