/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/replayed.h"

#include "session/clock.h"
#include "session/context.h"
#include "replay/replay.h"
#include "recovery/recovery.h"

bool tic_session_is_replayed(struct tic_session *session)
{
    return !tic_position_is_ahead() && !tic_replay_is_on() &&
           !atomic_load(&session->snapshot.point.resumes) &&
           tic_recovery_is_complete(&session->graph) &&
           tic_spawns_is_complete(&session->graph.spawns);
}
