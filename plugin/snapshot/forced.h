/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forced checkpoints (TIC): the result of a stolen task is durable when the task ends, so that it
 * is never executed again, whatever the last local checkpoint was. Jafar, Krings, Gautier,
 * "Flexible Rollback Recovery in Dynamic Heterogeneous Grid Computing", section 4.2. */
#ifndef TIC_SNAPSHOT_FORCED_H
#define TIC_SNAPSHOT_FORCED_H

#include "snapshot/snapshot.h"
#include "store/forced.h"

/* A result that lines do not know yet, or did not when the run started. */
struct tic_forced_result {
    struct tic_forced forced;
    struct tic_row record, rows[TIC_FORCED_OUTPUTS];
    char *values[TIC_FORCED_OUTPUTS]; /* recovered ones only; owned */
};

/* The stolen task in this slot has ended, and what it wrote is still as it left it. `forced` says
 * who it is; the outputs are filled here. On its worker. */
void tic_snapshot_force(struct tic_snapshot *snapshot, struct tic_slot *slot,
                        struct tic_forced *forced);

/* ---- recovery, owner thread ----------------------------------------------------------------- */
/* Takes the results of tasks that are not done out of the directory; before the line is adopted. */
int tic_snapshot_find_forced(struct tic_snapshot *snapshot, const struct tic_line *line);
/* Saves them again; after the line was adopted. */
int tic_snapshot_keep_forced(struct tic_snapshot *snapshot);
/* The recovered result of a task, or NULL. */
const struct tic_forced_result *tic_snapshot_forced_of(const struct tic_snapshot *snapshot,
                                                       uint64_t sequence);
void tic_snapshot_forget_forced(struct tic_snapshot *snapshot);

/* ---- checkpoint thread ---------------------------------------------------------------------- */
/* Marks the rows of results that no line holds. committed: done tasks are in a line; forgets
 * theirs. Under the graph lock. */
void tic_snapshot_mark_forced_locked(struct tic_snapshot *snapshot, bool committed);

#endif
