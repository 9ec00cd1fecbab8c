/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of tasks that are saved when they end, and their use in a restart. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "snapshot/forced.h"

struct tic_handle;
struct tic_slot;

/* Around a protected task, on its worker. has_more: its result lies not only in its data. */
void tic_forced_begin(struct starpu_task *task, struct tic_slot *slot);
void tic_forced_end(struct tic_slot *slot, bool has_more);
/* What the calling thread knows of the task between these, which may end on another thread. */
struct tic_forced_taken {
    const struct tic_slot *slot; /* NULL: its task's result is not saved */
    struct tic_forced forced;
};
/* Sets it, or none if NULL, and gives what there was before, unless NULL. */
void tic_forced_exchange(const struct tic_forced_taken *now, struct tic_forced_taken *before);
/* Submits what the log holds in the place of the task, if it does. awaited: the task itself, made a
 * control task, comes after that. Under the submission lock. */
bool tic_forced_use(struct starpu_task *task, uint64_t sequence, bool awaited);

/* Why a value that a task writes cannot be taken from the log; NULL: it can. */
const char *tic_forced_why_not_output(starpu_data_handle_t data, const struct tic_handle *handle);
/* Does it nothing but to write its data? */
bool tic_forced_only_writes(const struct starpu_task *task);
