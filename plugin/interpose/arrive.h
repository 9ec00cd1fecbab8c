/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of the clock of main(), and what comes back when it has come to the recovered cut. */
#pragma once

#include <stdbool.h>

struct tic_handle;

/* main() begins another operation; or a call that only waits. Not under the submission lock. */
void tic_clock_tick(void);
void tic_clock_wait(void);

/* The values of the line come back: main() is where it was at the cut. waits: not of these; or
 * NULL.
 */
void tic_position_restore(bool (*waits)(const struct tic_handle *handle));
