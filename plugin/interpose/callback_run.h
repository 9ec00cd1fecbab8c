/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks run as code of the application, also inside our own calls. */
#ifndef TIC_INTERPOSE_CALLBACK_RUN_H
#define TIC_INTERPOSE_CALLBACK_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/verify.h"

/* Around what is noted of a callback, and the callback: a quiescent line has both, or neither. May
 * wait for such a line. running: if it was noted. Any thread. */
void tic_callback_open(void);
void tic_callback_close(struct tic_running_callback *running);
/* Calls the application's function as the application. It is open. */
void tic_callback_run(void (*run)(void *), void *argument);
/* And notes that the callback of this task has begun. */
void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument);
/* The program is about to make a call by which others may go on: if it does so in the callback of a
 * task, what that has seen by then it has seen before they do. */
void tic_callback_note_call(void);
/* The same, or main() is, where that is no operation of its own. Its end: who ran inside of it has
 * returned. */
void tic_callback_note_letting_go(void);
void tic_callback_end_call(bool lets_go);

#endif
