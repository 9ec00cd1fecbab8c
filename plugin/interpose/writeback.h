/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Write-back: where StarPU has several memory nodes, a task that computes in another one than main
 * memory ends for us when StarPU has brought its values there (session/nodes.h), while a window is
 * open (snapshot/window.h). Outside of windows it ends at once, and leaves its values there.
 *
 * The kernel changes nothing in main memory, which keeps the value before the task until StarPU
 * brings the new one: so copy on write in the begin hook takes it from there, also where StarPU has
 * marked that copy as invalid. At its end the task asks for accesses to read in main memory, before
 * StarPU tells its successors: so the next writer waits until the values are there, are saved if
 * they must be, and the task counts as done. What reads them need not wait.
 *
 * This holds where StarPU orders the tasks, by their data (sequential consistency), tags or
 * dependencies. Others end protection where they meet: tic_writeback_check. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "interpose/forced.h"
#include "session/accesses.h"
#include "snapshot/cut.h"

/* Why the task cannot be protected on several nodes, or NULL. */
const char *tic_writeback_refuse(struct starpu_task *task, const struct tic_accesses *accesses);

/* ---- the calling worker ---------------------------------------------------------------------- */

/* Does it compute in other memory than the main one? On several nodes. */
bool tic_writeback_is_away(void);
/* It begins to write the handle: ends protection where the values of its last writer are still
 * under way, as StarPU orders both in another way than by data. On several nodes. */
void tic_writeback_check(const struct tic_slot *slot, const struct tic_handle *handle);
/* A task that writes no data begins: does main memory lack something that it reads? Then that is
 * logged when the task ends. */
bool tic_writeback_reads_late(struct starpu_task *task);
/* tic_forced_begin was called for the task of the slot: what is to be saved of it waits until its
 * end, as this thread may drive several workers, and begin their tasks meanwhile. */
void tic_writeback_take_result(struct tic_slot *slot);
/* The calling worker computes in main memory, and has begun the task: its values are there. */
void tic_writeback_found(struct starpu_task *task);
/* May the task of the slot end now, and leave its values where they are? */
bool tic_writeback_is_spared(const struct tic_slot *slot);
/* The kernel of the task, whose slot is taken, has ended: `end` is called, maybe on another thread,
 * when main memory holds its values. more: its kernel has changed its arguments. */
void tic_writeback_begin(struct starpu_task *task, struct tic_slot *slot, bool more,
                         void (*end)(struct tic_slot *slot, bool more));

/* ---- other threads --------------------------------------------------------------------------- */

/* Waits for the values of all tasks that have ended by now, a minute at most. Not on workers. On
 * several nodes. */
void tic_writeback_settle(void);
