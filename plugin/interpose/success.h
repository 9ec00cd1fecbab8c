/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The success of the program: its recovery lines go. */
#ifndef TIC_INTERPOSE_SUCCESS_H
#define TIC_INTERPOSE_SUCCESS_H

struct tic_session;

/* The session has come to its end with success, if not NULL: last of all its lines are removed. */
void tic_success_note(struct tic_session *session);

#endif
