/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of recovery lines in a second directory, made by a thread of its own: whatever the file
 * system there does, nobody waits for it. Two copies are kept in turns (a, b), each a store of its
 * own. */
#pragma once

#include "store/mirror.h"

struct tic_copier;

struct tic_copier_counts {
    uint64_t copies, failed, bytes; /* lines copied, and not; bytes of values written */
    uint64_t line;                  /* the newest one that is copied; 0: none by this run */
    bool late;                      /* no answer for long */
};

/* `newest`: the copy that holds the newest line already (0 or 1), or -1: the other is written
 * first. NULL when out of memory, or there can be no thread. */
struct tic_copier *tic_copier_start(const struct tic_store *store, const char *path, int newest);
/* A line was committed: it is copied when the copies before are done, unless a newer one comes.
 * Committing thread. */
void tic_copier_offer(struct tic_copier *copier, const struct tic_line *line);
/* Marks the rows that are being copied; between tic_rows_sweep_begin and _end. */
void tic_copier_mark(struct tic_copier *copier, struct tic_rows *rows);
void tic_copier_count(struct tic_copier *copier, struct tic_copier_counts *counts);
/* Ends it; remove: the copies go, too. Waits for a file system that does not answer no longer than
 * a few seconds: then the thread is left alone. */
void tic_copier_stop(struct tic_copier *copier, bool remove);
