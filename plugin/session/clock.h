/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of main(): its operations on tasks and data. */
#ifndef TIC_SESSION_CLOCK_H
#define TIC_SESSION_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/backlog.h"
#include "session/context.h"

/* main() has not come to the recovered cut: values of data in memory of main() wait, and so do live
 * tasks. */
static inline bool tic_position_is_ahead(void)
{
    return __builtin_expect(tic_session && atomic_load(&tic_session->snapshot.replaying), 0);
}

/* Operations of main() begun so far. */
uint64_t tic_clock_now(void);
/* Is main() not yet where it was at the recovered cut? */
bool tic_clock_is_behind(void);
/* Is something held back that main() has come far enough for? */
static inline bool tic_clock_is_due(void)
{
    return __builtin_expect(atomic_load(&tic_backlog_earliest) != UINT64_MAX, 0) &&
           atomic_load(&tic_backlog_earliest) <= tic_clock_now();
}

#endif
