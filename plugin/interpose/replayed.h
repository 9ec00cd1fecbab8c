/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of a replay. */
#ifndef TIC_INTERPOSE_REPLAYED_H
#define TIC_INTERPOSE_REPLAYED_H

#include <stdbool.h>

struct tic_session;

/* Did the replay submit everything that the recovered cut knows? */
bool tic_session_is_replayed(struct tic_session *session);

#endif
