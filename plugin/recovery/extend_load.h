/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The line that a run starts from is extended by what its event log tells. Owner thread. */
#ifndef TIC_RECOVERY_EXTEND_LOAD_H
#define TIC_RECOVERY_EXTEND_LOAD_H

#include "recovery/extend.h"
#include "snapshot/snapshot.h"

/* Reads the log, and chooses; nothing of a line of another architecture, whose packed arguments
 * nobody has looked at. Before the line is adopted. 0 or -errno. */
int tic_extend_read(struct tic_snapshot *snapshot, const struct tic_line *line,
                    struct tic_extend *extend);
/* Loads the line that was adopted into the graph, extended if all values that it gets by that are
 * whole. 0 or -errno. */
int tic_extend_load(struct tic_snapshot *snapshot, struct tic_line *line,
                    struct tic_extend *extend);

#endif
