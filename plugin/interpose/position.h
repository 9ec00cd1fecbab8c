/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where main() was at the recovered cut. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_reading;
struct tic_session;

/* The store was opened. */
void tic_position_load(struct tic_session *session);
void tic_position_close(void);

struct tic_session;

/* Did the replay submit everything that the recovered cut knows? */
bool tic_session_is_replayed(struct tic_session *session);
