/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which slot of the cut a task has. Workers have one each, and where StarPU has several memory
 * nodes a task keeps it until its values are in main memory: then its worker begins the next one in
 * another slot. */
#ifndef TIC_INTERPOSE_SLOTS_H
#define TIC_INTERPOSE_SLOTS_H

#include <starpu.h>
#include <stdbool.h>

#include "snapshot/snapshot.h"

/* For the task that the calling worker begins: its own slot, or one to spare where a task before is
 * under way to main memory still. NULL: no memory, and protection has ended. */
struct tic_slot *tic_slots_own(struct tic_snapshot *snapshot);
/* It has begun there: before the slot says so. */
void tic_slots_note(struct tic_slot *slot, const struct starpu_task *task);
/* Where the task has begun and not ended, or NULL. Any thread. */
struct tic_slot *tic_slots_find(const struct tic_snapshot *snapshot,
                                const struct starpu_task *task);
/* Of those who want to end the task one does. */
bool tic_slots_take(struct tic_slot *slot, const void *task);
/* It has ended: another one may have the slot. */
void tic_slots_end(struct tic_snapshot *snapshot, struct tic_slot *slot);

#endif
