/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history of a run: what its actors observed, one entry after the other. An actor is whoever
 * can observe something and is not skipped by a restart: main(), callbacks (prologues and accesses
 * with a callback, too), kernels that write no data. Tables with values say the same, each a part
 * of it: each of them is a projection of the history (tic_history_find_difference). Pure data
 * structure; the caller synchronises. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "history/tail.h"
#include "store/line.h"

struct tic_history {
    struct tic_tail tail;
    struct tic_line_entry *entries; /* immutable: of the line */
    size_t entry_count;
    struct tic_line_entry *actors; /* immutable: of these, the END of each actor, or, if there is
                                      none, a BEGIN; by role and actor */
    size_t actor_count;
    bool acted;  /* others than main() have begun, who are not skipped; never unset */
    bool absent; /* immutable: the run began in a version without histories, and keeps of one only
                    who began: the entries are made */
    uint64_t returned, released; /* immutable: positions of the last recovered RETURN and RELEASE */
};

void tic_history_init(struct tic_history *history);
void tic_history_fini(struct tic_history *history);
/* Takes over what a complete line tells. 0 or -ENOMEM. */
int tic_history_load(struct tic_history *history, struct tic_line *line);
/* Had it begun by the recovered cut? */
bool tic_history_has_begun(const struct tic_history *history, enum tic_history_role role,
                           uint64_t actor);
/* 0, or -ENOMEM. epoch: cuts from this one on have it. RETURN and RELEASE that main() comes to once
 * more in a restart, and what others had begun or ended, are not appended again; the caller knows
 * of what they had seen. */
int tic_history_append(struct tic_history *history, const struct tic_line_entry *entry,
                       uint64_t epoch);

/* Fills the table of a line, of which it knows where main() was, with the entries that came up to a
 * cut, as tic_tail_describe() does. 0 or -ENOMEM. */
int tic_history_describe(struct tic_history *history, uint64_t cut, struct tic_line *line);

/* Compares the tables of a line with its history: whether each entry has its row, in the same
 * order, as far as the line has both; one that is complete has them all. The path of a table that
 * differs, or NULL. A store of a version without histories has more rows than entries. */
const char *tic_history_find_difference(const struct tic_line *line, bool complete);

/* Where main() was: at the cut, or where its entries tell of waits since that operation. An actor
 * that had begun by the cut may have appended what it observed when main() was further on: it needs
 * main() there at most. */
uint64_t tic_history_find_main(const struct tic_line_entry *entries, size_t count, uint64_t cut);

enum tic_history_trouble {
    TIC_HISTORY_FINE,
    TIC_HISTORY_CYCLE, /* `entry` needs main() where it is only after `other`, which is behind */
};

struct tic_history_wait {
    size_t entry, other; /* of the history of the line, from 0 */
};

/* The first trouble, from the end of the history, of whom waits for main(). Of a line that is not
 * complete it tells about the entries that the line has. */
enum tic_history_trouble tic_history_find_cycle(const struct tic_line *line,
                                                struct tic_history_wait *wait);

/* Of who began, in a line without more. Callbacks begin in their order, at the operation of main()
 * in which they began; those that may look at data end before the next one begins, as the tables do
 * not say when they ended: StarPU gives nobody other content meanwhile. Kernels stand at the end,
 * as the tables do not say when they began: they begin when the program comes to them, one after
 * the other, with what they read. Of main() there is nothing, as positions of its accesses are not
 * known: their order is. 0 or -ENOMEM; the entries are the caller's. */
int tic_history_make(const struct tic_line *line, struct tic_line_entry **entries, size_t *count);
