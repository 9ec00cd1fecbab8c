/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Windows of write-through, where StarPU has several memory nodes.
 *
 * A task that computes on another node than main memory leaves its values there, and they are
 * marked as *stale*: main memory lacks them. Lines are saved from main memory, so a line that is
 * due opens a window first. While it is open each task has its values brought to main memory before
 * it ends, as write-through does; and StarPU is asked for each stale value. When none is stale the
 * epoch is raised, and the cut is saved as on one node. Then the window is closed.
 *
 * It lasts until the tasks that hold stale data have ended, as the cut does. Under SEL it is
 * always open. */
#pragma once

#include "snapshot/snapshot.h"

/* Does a task's end bring its values to main memory? */
bool tic_window_is_open(const struct tic_snapshot *snapshot);
/* A task on another node ends: marks what it wrote as stale. False: its values are to be brought to
 * main memory first. */
bool tic_window_mark(struct tic_snapshot *snapshot, const struct tic_slot *slot);
/* May the result of a stolen task be brought to main memory, so that it can be saved? Such copies
 * take no more of the time than forced checkpoints may. */
bool tic_window_may_force(const struct tic_snapshot *snapshot);
/* Whoever calls has an access to it in main memory, or is the only one who may write it there. */
void tic_window_unmark(struct tic_handle *handle);

/* Is the caller to ask StarPU for the value? Else somebody has asked, or StarPU's handle may be
 * gone. Under the handle's lock. */
bool tic_window_claim_locked(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* That access is granted, and not released yet. Any thread. */
void tic_window_granted(struct tic_snapshot *snapshot, struct tic_handle *handle);

/* ---- the checkpoint thread ------------------------------------------------------------------ */
/* Returns when main memory holds all values but those of tasks that run. 0, or -ECANCELED when the
 * checkpoint is given up. */
int tic_window_open(struct tic_snapshot *snapshot);
void tic_window_close(struct tic_snapshot *snapshot);
