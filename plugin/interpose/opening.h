/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The opening of a session, perhaps before StarPU starts, and the events of main() from then on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

struct tic_session;

/* What main() asked, on the owner thread: recorded, unless there are recorded events that the
 * replay has not come to; then false. */
bool tic_session_note(enum tic_event kind, int64_t value);
/* The session whose events main() comes to now, perhaps before starpu_init; NULL: none. */
struct tic_session *tic_session_of_events(void);
/* The session of this process, perhaps before starpu_init; NULL: none, or not yet. */
struct tic_session *tic_session_opened(void);
/* Opens a session, if none was tried, with the store if that exists. NULL: there is none. */
struct tic_session *tic_opening_prepare(void);
/* A session was tried, and there is none. */
bool tic_opening_is_over(void);
/* StarPU starts: creates the store if it is not open. False: the store is that of what this process
 * ran before exec; the session is over. */
bool tic_opening_create_store(struct tic_session *session);
/* The message of that; NULL: it is not. */
const char *tic_opening_why_not(void);

struct tic_session;

/* The session has come to its end with success, if not NULL: last of all its lines are removed. */
void tic_success_note(struct tic_session *session);
