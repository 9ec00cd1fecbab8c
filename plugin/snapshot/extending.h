/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that extend the newest recovery line (extension.h): what the log tells of them. */
#pragma once

#include "snapshot/snapshot.h"
#include "store/extension.h"

/* From now on some order is a race. Any thread. */
void tic_extension_start(struct tic_snapshot *snapshot);

/* ---- a worker ------------------------------------------------------------------------------- */
/* A task begins, after it has announced its writes; `ended` gets all but what comes at its end.
 * False: this is off, or its begin cannot be logged, so that no restart goes beyond it. */
bool tic_extension_begin(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                         struct tic_ended *ended);
/* A task is about to begin to write this, by an access that commutes: the hook at the end of the
 * one before may be still to come. The value is saved for that one. */
void tic_extension_take_over(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* It has ended. whole: its results can stand for it; outputs[i].version tells which writes of
 * slot->writing are its own. */
void tic_extension_end(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                       struct tic_ended *ended, bool whole);
/* Somebody has data now of whom no record tells, and a task that begins later may depend on that:
 * no restart goes beyond this. Any thread, before StarPU gives the data to others. */
void tic_extension_stop(struct tic_snapshot *snapshot);
/* Its kernel has submitted a task. False: that is not in the log. */
bool tic_extension_note(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                        const struct tic_submitted *submitted);
