/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line that all ranks of an MPI program take, as the checkpoint thread of one of them sees it
 * (base/ranks.h). Without ranks each of these is nothing. */
#pragma once

#include "snapshot/snapshot.h"

/* Lines are agreed on from now on. Before the checkpoint thread runs. */
/* StarPU is about to get what comes in no order of main(), so that results do not suffice. what: a
 * task, say; why. Any thread. Nothing without ranks that log. */
void tic_snapshot_note_race(struct tic_snapshot *snapshot, const char *what, const char *why);
void tic_snapshot_join_ranks(struct tic_snapshot *snapshot, const struct tic_ranks *ranks);
/* Are all ranks about to take one? Waits for that where somebody waits for the line. */
bool tic_snapshot_begin_line(struct tic_snapshot *snapshot);
/* What may wait on this rank is done: 0 when all ranks are to cut; -ESTALE: there is no line;
 * -ECANCELED. */
int tic_snapshot_await_cut(struct tic_snapshot *snapshot);
/* All is saved: 0 when all have cut, and what was under way to this rank has come. */
int tic_snapshot_await_late(struct tic_snapshot *snapshot);
