/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks run as code of the application, also inside our own calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/verify.h"

/* Around what is noted of a callback, and the callback: a quiescent line has both, or neither. May
 * wait for such a line. running: if it was noted. Any thread. */
void tic_callback_open(void);
void tic_callback_close(struct tic_running_callback *running);
/* The callback of this task, or access, is about to run on this thread: it may do so inside of a
 * call of main(), or of another callback. */
struct tic_running_callback tic_callback_here(uint64_t key);
/* Calls the application's function as the application. It is open. */
void tic_callback_run(void (*run)(void *), void *argument,
                      const struct tic_running_callback *running);
/* Does all this. */
void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument);
bool tic_callback_is_of_access(void); /* that this thread runs */
/* Does a callback that StarPU runs on this thread come when the replay says so, or after it? But
 * for those inside of a call of who runs for the first time: that sees what they do. */
bool tic_callback_is_put_off(void);
/* The program is about to make a call by which others may go on: if it does so in a callback, what
 * that has seen by then it has seen before they do. lets_go: callbacks may run inside, and main()'s
 * count, too. The end: those that ran inside of it have returned. */
void tic_callback_note_call(bool lets_go);
void tic_callback_end_call(bool lets_go);
