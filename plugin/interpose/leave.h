/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end that somebody asks for by a signal: a last checkpoint, and an exit status of our own. */
#pragma once

#include "session/context.h"

/* StarPU is about to start: what handles a signal afterwards that nobody has handled before comes
 * with StarPU's libraries, not from the program. */
void tic_leave_note_program(void);
/* From now on the signals of STARPU_TIC_STOP end this process so, but for those that the program
 * handles or ignores. Owner thread, once StarPU runs. */
void tic_leave_arm(struct tic_session *session);
/* The program ends by itself: they mean what they mean without us. Once. */
void tic_leave_disarm(void);
