/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of main(): its operations on tasks and data. */
#ifndef TIC_SESSION_CLOCK_H
#define TIC_SESSION_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/context.h"

/* main() has not come to the recovered cut: values of data in memory of main() wait. */
static inline bool tic_position_is_ahead(void)
{
    return __builtin_expect(tic_session && atomic_load(&tic_session->ahead), 0);
}

/* Operations of main() begun so far. */
uint64_t tic_clock_now(void);
#endif
