/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much of the disk the directory takes, and may take. Committing thread only. */
#pragma once

#include "store/store.h"

/* Bounds the rows that may be written, so that with them and the next line the directory stays
 * within its bound. Rows that were formatted and never written take no space. 0; -EDQUOT when it is
 * beyond that already; other -errno. */
int tic_space_bound(struct tic_store *store);
/* The same, and asks whether a segment with so many extents may be formatted. */
int tic_space_check(struct tic_store *store, const struct tic_line_extent *extents, size_t count);
