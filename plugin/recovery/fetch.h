/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of recovery lines (STARPU_TIC_COPY) in a restart: looking for the newest good one, and
 * bringing it back. A file system that does not answer is given up. */
#pragma once

#include "store/store.h"

struct tic_fetch_found {
    struct tic_line line; /* complete; version NULL: there is none */
    int copy;             /* 0 or 1, or -1 */
    bool marked;          /* mark.h: of the run that is copied */
};

/* 0, with what was found or not; -ETIMEDOUT, no answer; other -errno. */
int tic_fetch_look(const char *directory, const struct tic_h5_ops *h5,
                   struct tic_fetch_found *found);
/* Makes the line that was found the only one of the directory `to`, which the caller has locked.
 * 0 or -errno: then the directory holds no line, and the copy is as it was. */
int tic_fetch_line(const char *directory, const struct tic_h5_ops *h5,
                   const struct tic_fetch_found *found, const char *to);
