/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history of a run: what its actors observed, one entry after the other. An actor is whoever
 * can observe something and is not skipped by a restart: main(), callbacks (prologues and accesses
 * with a callback, too), kernels that write no data. Tables of before say the same, each a part of
 * it: each of them is a projection of the history (tic_history_find_difference). Pure data
 * structure; the caller synchronises. */
#ifndef TIC_HISTORY_HISTORY_H
#define TIC_HISTORY_HISTORY_H

#include "history/tail.h"

struct tic_history {
    struct tic_tail tail;
    struct tic_line_entry *entries; /* immutable: of the line */
    size_t entry_count;
    struct tic_line_entry *open; /* immutable: of these, BEGIN without an END, by role and actor */
    size_t open_count;
    bool absent; /* immutable: the run began in a version without histories, and keeps none: the
                    entries are made (made.h) */
    uint64_t returned, released; /* immutable: positions of the last recovered RETURN and RELEASE */
};

void tic_history_init(struct tic_history *history);
void tic_history_fini(struct tic_history *history);
/* Takes over what a complete line tells. 0 or -ENOMEM. */
int tic_history_load(struct tic_history *history, struct tic_line *line);
/* Was it running at the recovered cut? */
bool tic_history_was_running(const struct tic_history *history, enum tic_history_role role,
                             uint64_t actor);
/* 0, or -ENOMEM. epoch: cuts from this one on have it. RETURN and RELEASE that main() comes to once
 * more in a restart are not appended again; the caller knows of the others. */
int tic_history_append(struct tic_history *history, const struct tic_line_entry *entry,
                       uint64_t epoch);

/* Fills the table of a line with the entries that came up to a cut, as tic_tail_describe() does. An
 * actor that had begun then may have appended what it observed when main() was further on: it needs
 * main() where it was at the cut, `position`, at most. 0 or -ENOMEM. */
int tic_history_describe(struct tic_history *history, uint64_t cut, uint64_t position,
                         struct tic_line *line);

/* Compares the tables of a line with its history: whether each entry has its row, in the same
 * order, as far as the line has both; one that is complete has them all. The path of a table that
 * differs, or NULL. A store of a version without histories has more rows than entries. */
const char *tic_history_find_difference(const struct tic_line *line, bool complete);

#endif
