/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/clock.h"

#include "session/context.h"

uint64_t tic_clock_now(void)
{
    return atomic_load(&tic_session->graph.clock);
}
