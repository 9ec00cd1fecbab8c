/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a session: one protected StarPU instance, from starpu_init to the end of the process. */
#ifndef TIC_INTERPOSE_SESSION_H
#define TIC_INTERPOSE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/context.h"

/* The next event of this kind, on the owner thread, before or while StarPU runs: replaces *value
 * in a replay, else records it. Opens an existing store when it is called before starpu_init. */
void tic_session_event(enum tic_event kind, int64_t *value);
/* What main() asked, on the owner thread: recorded, unless there are recorded events that the
 * replay has not come to; then false. */
bool tic_session_note(enum tic_event kind, int64_t value);
/* The session whose events main() comes to now, perhaps before starpu_init; NULL: none. */
struct tic_session *tic_session_of_events(void);
/* The session of this process, perhaps before starpu_init; NULL: none, or not yet. */
struct tic_session *tic_session_opened(void);
/* Around the real starpu_initialize. `before` may replace the configuration (into *copy). */
struct starpu_conf *tic_session_on_initialize_before(struct starpu_conf *conf,
                                                     struct starpu_conf *copy, const char **sched);
void tic_session_on_initialize_after(int result);
/* Around each start and shutdown of StarPU, by whatever thread: one at a time. */
void tic_session_enter_life(void);
void tic_session_leave_life(void);
/* Inside: after each start. */
void tic_session_count_start(int result);
/* True when StarPU stops with this call, and the session with it. */
bool tic_session_on_shutdown_before(void);
void tic_session_on_shutdown_after(void);

/* The call, and the task in whose kernel or callback this thread makes it; valid until the next one
 * of the thread. */
const char *tic_session_place(const char *call);
/* Ends protection: the program runs on unprotected. Any thread. On another than the owner's in a
 * recovered run no more lines are taken, but the replay goes on, which main() may be in the middle
 * of: who calls sees to the values that it uses itself. */
void tic_session_unprotect(const char *what, const char *why);
/* The same, and the replay ends, too: after restoring all that a recovered run still needs; which
 * stops when its replay is not complete. */
void tic_session_unprotect_now(const char *what, const char *why);
/* Ends protection by a call after which `starpu-tic check`, which goes on otherwise, would change
 * what the program computes: our own accesses take it that data is in main memory only. */
void tic_session_stop_watching(const char *what, const char *why);

/* Did the replay submit everything that the recovered cut knows? */
bool tic_session_is_replayed(struct tic_session *session);

#endif
