/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() asks StarPU while tasks run, recorded in the first run and answered as before in a
 * restart. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/told.h"
#include "graph/graph.h"

/* StarPU has been started, and main() has not asked anything since. Owner thread only. */
void tic_answers_set_clock(const struct tic_graph *graph);
/* The answer to a question of main(): the real one in *bits, or what is told in its place. True
 * when that is an answer of the recorded run. */
bool tic_answer(enum tic_answer call, unsigned key, int64_t *bits);
/* main() submits a structure that stays with it. False: out of memory. Under the submission lock.
 */
bool tic_answers_note_task_locked(const struct starpu_task *task, uint64_t sequence);
/* The answer to starpu_task_finished, of main(). */
bool tic_answers_is_finished(const struct starpu_task *task, bool real);
/* The answer to others than main(). */
int64_t tic_answers_elsewhere(enum tic_answer call, const void *caller, int64_t bits);
/* main() was told so, and may know now that all tasks have ended, and write their data by its own
 * pointers. Other counts tell it of no particular task: with each of them as a reason for doubt, a
 * program that asks all the time would get no line. */
void tic_answers_told(enum tic_answer call, int64_t bits);
/* main() comes to this position: its questions before that are known to any later line. Owner
 * thread only. */
void tic_answers_end(uint64_t position);
/* Another event of main() comes. Owner thread only. */
void tic_answers_break(void);

/* The next event of this kind, on the owner thread, before or while StarPU runs: replaces *value
 * in a replay, else records it. Opens an existing store when it is called before starpu_init. */
void tic_session_event(enum tic_event kind, int64_t *value);
