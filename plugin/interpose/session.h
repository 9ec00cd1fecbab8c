/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a session: one protected StarPU instance, from starpu_init to the end of the process.
 */
#pragma once

#include <stdbool.h>

struct starpu_conf;

/* Around the real starpu_initialize. `before` may replace the configuration (into *copy). */
struct starpu_conf *tic_session_on_initialize_before(struct starpu_conf *conf,
                                                     struct starpu_conf *copy, const char **sched);
void tic_session_on_initialize_after(int result);
/* StarPU has started in a process that is not protected: ends it where it was to be a slave and
 * would run the whole program (session/slave.h). */
void tic_session_require_master(int result);
/* Around each start and shutdown of StarPU, by whatever thread: one at a time. */
void tic_session_enter_life(void);
void tic_session_leave_life(void);
/* Inside: after each start. */
void tic_session_count_start(int result);
/* True when StarPU stops with this call, and the session with it. */
bool tic_session_on_shutdown_before(void);
void tic_session_on_shutdown_after(void);
