/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of the clock of main(), and what they release. */
#ifndef TIC_INTERPOSE_ARRIVE_H
#define TIC_INTERPOSE_ARRIVE_H

#include <stdbool.h>

/* main() begins another operation; or a call that only waits. In a restart: at the position of the
 * recovered cut all values come back, and then live tasks may run. Not under the submission lock.
 */
void tic_clock_tick(void);
void tic_clock_wait(void);
/* main() has come this far: what was held back for it happens. Not inside the guard. */
void tic_clock_release(void);
/* Is main() ahead of the recovered cut, or is it just letting live tasks go? */
bool tic_position_holds_tasks(void);

#endif
