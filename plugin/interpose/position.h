/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where main() was at the recovered cut, and who waits for it. */
#ifndef TIC_INTERPOSE_POSITION_H
#define TIC_INTERPOSE_POSITION_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_session;

/* The store was opened. */
void tic_position_load(struct tic_session *session);
void tic_position_close(void);
/* main() begins an operation: if it is the one of the recovered cut, all values come back, and then
 * live tasks may run. Not under the submission lock. */
void tic_position_tick(void);
/* Under the submission lock, before the real submission: the task was not done at the recovered
 * cut, so it waits for main() to come there. */
bool tic_position_is_to_gate(const struct starpu_task *task, uint64_t key);
void tic_position_gate(struct starpu_task *task, uint64_t key);
/* A task begins that had begun by the recovered cut, without output: main() waits for its end
 * there, which is to be noted once. */
bool tic_position_is_again(uint64_t key);
void tic_position_note_again(void);
/* The callback of this task is to come; true if main() waits for it at the recovered cut. Then,
 * once, it has returned, or main() need not wait. Any thread. */
bool tic_position_expect(uint64_t key);
void tic_position_note_shown(void);
/* Is main() ahead of it, or is it just letting these tasks go? */
bool tic_position_holds_tasks(void);

#endif
