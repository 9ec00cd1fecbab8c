/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where main() was at the recovered cut, and who waits for it. */
#ifndef TIC_INTERPOSE_POSITION_H
#define TIC_INTERPOSE_POSITION_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_reading;
struct tic_session;

/* The store was opened. */
void tic_position_load(struct tic_session *session);
void tic_position_close(void);
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
/* The same of any callback that is to come before that. */
bool tic_position_expect_any(void);
void tic_position_note_shown(void);
/* Tasks that are executed again, and callbacks, are still to end before main() is there. */
bool tic_position_awaits_tasks(void);
/* What live tasks wait for; NULL: none does. It is the caller's then. */
struct starpu_task *tic_position_take_gate_locked(void);
/* A value is being read from the store. */
bool tic_position_is_reading(const struct tic_reading *reading);

#endif
