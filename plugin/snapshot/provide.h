/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows that values are written to, and blocks of the event log: who needs one asks the checkpoint
 * thread for it. */
#pragma once

#include "snapshot/snapshot.h"

/* Not on the checkpoint thread: waits until there is a free row for a value of the handle, or until
 * nobody will make one. 0 or -errno. */
int tic_snapshot_want_row(struct tic_snapshot *snapshot, const struct tic_handle *handle);
/* Not on the checkpoint thread: the same for a block of the event log. 0 or -errno. */
int tic_snapshot_want_log(struct tic_snapshot *snapshot);
/* Owner thread: all that it has appended to the log is on the disk. False: it may not be. */
bool tic_snapshot_force_log(struct tic_snapshot *snapshot);

/* ---- checkpoint thread ---------------------------------------------------------------------- */
/* Formats what was asked for. */
void tic_snapshot_serve_requests(struct tic_snapshot *snapshot);
/* Adds a row of this shape. 0 or -ENOMEM. */
int tic_demands_add(struct tic_demands *demands, const struct tic_shape *shape);
/* Formats rows for what is dirty now, and for some more. 0 or -errno. */
int tic_provide_dirty(struct tic_snapshot *snapshot);
/* The same before a cut, if there are not enough; and of the event log. */
int tic_provide_rows(struct tic_snapshot *snapshot);
