/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/clock.h"

#include "session/context.h"

uint64_t tic_clock_now(void)
{
    return atomic_load(&tic_session->graph.clock);
}

bool tic_clock_is_behind(void)
{
    const struct tic_session *session = tic_session;

    return session->recovered && atomic_load(&session->watching) &&
           (tic_clock_now() < session->graph.recovered.clock || tic_position_is_ahead());
}
