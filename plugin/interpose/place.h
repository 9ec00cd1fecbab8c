/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places in the program, for messages. */
#ifndef TIC_INTERPOSE_PLACE_H
#define TIC_INTERPOSE_PLACE_H

/* The call, and the task in whose kernel or callback this thread makes it; valid until the next one
 * of the thread. */
const char *tic_session_place(const char *call);

#endif
