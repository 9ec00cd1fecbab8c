/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segments that are not worth their file: those in which nothing is in use are removed, and values
 * are moved out of those with little, so that they can be. Committing thread only. */
#pragma once

#include "store/store.h"

/* Above so many segments small ones are merged; below so many unused bytes no segment is closed for
 * them; so many bytes are moved for a checkpoint. */
enum { TIC_COMPACT_SEGMENTS = 64, TIC_COMPACT_WASTE = 1 << 16, TIC_COMPACT_BYTES = 1 << 22 };

/* After a sweep that follows a commit: removes segments, and closes those that are to be emptied.
 * -ENOMEM: nothing was done. */
int tic_compact_review(struct tic_store *store);
/* Removes all segments in which nothing is in use, at once: the disk is full. */
void tic_compact_trim(struct tic_store *store);
/* How much of each open segment is in use (malloc'ed). NULL when out of memory. */
struct tic_use *tic_compact_uses(struct tic_store *store);
/* True when there are closed segments: values that lie there should be moved. */
bool tic_compact_wants(const struct tic_store *store);
/* Copies a saved value into a row of a segment that is not closed, and puts that into *saved; the
 * new row stays busy until tic_rows_settle. 0; -EBADMSG when it is damaged; other -errno. */
int tic_compact_move(struct tic_store *store, struct tic_saved *saved);
