/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Saving values: of one handle, on workers and on the owner thread; and of a cut. */
#pragma once

#include "snapshot/snapshot.h"

/* Writes the value to a free row, which stays busy. why: 0, or what keeps it from being written, so
 * that it is held in memory. 0; -EAGAIN no free row; other -errno. Under the handle's lock. */
int tic_save_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why,
                          struct tic_saved *saved);
/* The same, and the handle is not dirty any more. */
int tic_save_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why);
/* The same, where no task writes it, and one may begin to: -EBUSY then, and nothing is noted. */
int tic_save_beside_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, int why);
/* Locks the handle, unless it is gone at this cut (UINT64_MAX: at all): its memory is main()'s
 * then, and main() takes this lock in between. */
bool tic_save_lock(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
    TIC_THREAD_SAFETY(try_acquire_capability(true, handle->saving.lock));
/* Does the active cut still need the memory of the handle as it is? */
bool tic_save_is_needed(struct tic_handle *handle, uint64_t cut);
/* Saves the handle if the active cut needs its value, asking for rows where there are none, or
 * compares it with what was saved. If that fails, the cut is lost. steady: no task can begin to
 * write it meanwhile, so an image may hold it. */
void tic_save_due(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                  bool steady);

/* ---- on the checkpoint thread ---------------------------------------------------------------- */

/* One pass over the first `*left` handles; those that a task of the cut still writes are moved to
 * the front for the next pass. 0 or -errno. */
int tic_save_pass(struct tic_snapshot *snapshot, struct tic_handle **handles, uint64_t cut,
                  unsigned long *left);
