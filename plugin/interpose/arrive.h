/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of the clock of main(), and what they release. */
#ifndef TIC_INTERPOSE_ARRIVE_H
#define TIC_INTERPOSE_ARRIVE_H

#include <stdbool.h>

struct tic_handle;

/* main() begins another operation; or a call that only waits. In a restart: at the position of the
 * recovered cut all values come back, and then live tasks may run. Not under the submission lock.
 */
void tic_clock_tick(void);
void tic_clock_wait(void);
/* main() begins to submit a task that is done: its prologues and callbacks may have run by the cut,
 * and saw older values, so all that comes when it has submitted it, and is_late until then. */
void tic_clock_tick_late(void);
void tic_clock_arrive_late(void);
extern bool tic_clock_is_late; /* owner thread only */
/* main() has come this far: what was held back for it happens. Not inside the guard. */
void tic_clock_release(void);
/* Is main() ahead of the recovered cut, or is it just letting live tasks go? */
bool tic_position_holds_tasks(void);

/* The values of the line come back: main() is where it was at the cut. waits: not of these; or
 * NULL.
 */
void tic_position_restore(bool (*waits)(const struct tic_handle *handle));

#endif
