/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of one shape in a segment: for the files of rows.h only. */
#pragma once

#include "store/rows.h"

struct tic_extent {
    struct tic_line_extent disk; /* immutable after add */
    struct tic_shape shape;      /* immutable until it is retired: then zero, and so is free */
    int fd;                      /* -1: it is retired: it has no rows any more */
    /* bitmaps of rows, guarded by the rows lock */
    uint64_t *used;   /* holds something, or will soon */
    uint64_t *busy;   /* being written, referenced from nowhere yet */
    uint64_t *keep;   /* survives the sweep under way */
    uint64_t *pinned; /* survives all sweeps */
    uint64_t *shared; /* several values may refer to it */
    uint64_t free;
    uint64_t hint; /* word where the last free row was found */
    uint64_t top;  /* one above the last row that was ever in use, as far as is known */
    uint64_t pins; /* bits of pinned */
    bool closed;   /* rows are not taken */
};

static inline bool tic_extent_is_retired(const struct tic_extent *extent)
{
    return extent->fd < 0;
}

/* Its number stays until another extent gets it. */
void tic_extent_retire_locked(struct tic_rows *rows, struct tic_extent *extent)
    TIC_REQUIRES(rows->lock);
