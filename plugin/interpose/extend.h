/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the event log tells of tasks where some order is a race: snapshot/extension.h. */
#pragma once

#include <stdbool.h>
#include <starpu.h>

struct tic_slot;
struct tic_spawn;

/* ---- hooks, on a worker --------------------------------------------------------------------- */
/* Before the task announces that it writes the handle. */
void tic_extend_before_write(struct starpu_task *task, unsigned buffer);
/* After it has announced all. */
void tic_extend_begin(struct starpu_task *task, const struct tic_slot *slot);
/* more: it did more than to write its data. */
void tic_extend_end(const struct tic_slot *slot, bool more);

/* The kernel that runs on this thread has submitted a task that a restart keeps. */
void tic_extend_note_submitted(const struct tic_spawn *spawn);
