/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that later lines need, and that may change in memory before they are written: a disk may
 * take longer than tasks should wait, compression does, and sometimes the store cannot be written.
 * Copies of them wait in memory. Each goes by a number in the place of a row,
 * with TIC_HELD_EXTENT; lines get the row that it was written to. */
#pragma once

#include "store/rows.h"

struct tic_store;

/* What may be held at most, in bytes, if nothing else is said. */
#define TIC_HELD_MOST (UINT64_C(256) << 20)

/* When more is held, it is written before a line asks for it: copies then use memory again that is
 * in the caches, in place of new memory, which takes many times as long to get. */
#define TIC_HELD_SOON (UINT64_C(64) << 20)

/* A value is worth an image if it is so large a part of the memory of the process. */
#define TIC_IMAGE_PART 16

/* Keeps a value as it is; it is busy until tic_rows_settle. steady: nobody changes it meanwhile. 0;
 * -ENOBUFS: too much is held; -ENOMEM. Any thread. */
int tic_held_save(struct tic_rows *rows, const struct tic_layout *layout, bool steady,
                  struct tic_saved *saved);
/* Large values wait in an image of the process (base/image.h): copies them, unless in a hurry, so
 * that it can go. Committing thread. 0; -ECANCELED; -ESRCH: a value is lost, as the image
 * has gone, or as somebody changed it while it was taken;
 * -ENOMEM. */
int tic_held_copy_images(struct tic_rows *rows, const _Atomic bool *hurry);
/* Values that an image had, in all. */
uint64_t tic_held_count_images(struct tic_rows *rows);
/* The value of this number into the layout. 0; -ENOENT: it is not in memory, as it is written, or
 * an image has it; -ERANGE: it has another size. Any thread. */
int tic_held_read(struct tic_rows *rows, uint32_t number, const struct tic_layout *to,
                  uint64_t *checksum);
/* Writes this one, which was just held, to a free row, compressed if rows of its shape are. Any
 * thread, while nobody sweeps. 0; -EAGAIN when no row is free; -ESRCH as
 * above; other -errno: it waits. */
int tic_held_write(struct tic_store *store, struct tic_row row);
/* Writes all that are not written yet, as they are: that is one thread's work. Committing thread. 0
 * or -errno. */
int tic_held_write_all(struct tic_store *store);
/* Is more held than TIC_HELD_SOON, which can be written before the next line? Any thread. */
bool tic_held_is_much(struct tic_rows *rows);
/* Writes a few of the oldest while that is so. Committing thread. 1: some; 0: none; or -errno. */
int tic_held_write_some(struct tic_store *store);
/* Puts the rows of those that are written into the tables of the line. 0, or -EIO: one is not. */
int tic_held_resolve(struct tic_rows *rows, struct tic_line *line);

/* ---- for rows.c, under its lock ------------------------------------------------------------- */
void tic_held_fini(struct tic_rows *rows);
void tic_held_settle_locked(struct tic_rows *rows, uint32_t number) TIC_REQUIRES(rows->lock);
void tic_held_pin_locked(struct tic_rows *rows, uint32_t number) TIC_REQUIRES(rows->lock);
void tic_held_unpin_all_locked(struct tic_rows *rows) TIC_REQUIRES(rows->lock);
/* The row that it was written to; the row itself if it is not held, or not written. */
struct tic_row tic_held_real_locked(const struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock);
uint64_t tic_held_bytes_locked(const struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock);
/* These two give what is to be marked instead. */
struct tic_row tic_held_mark_locked(struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock);
struct tic_row tic_held_sweep_begin_locked(struct tic_rows *rows, uint32_t number)
    TIC_REQUIRES(rows->lock);
void tic_held_sweep_end_locked(struct tic_rows *rows) TIC_REQUIRES(rows->lock);
