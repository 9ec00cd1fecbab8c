/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the program has printed, and libc has not written yet: SIGKILL takes it along. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How much that is, without the lock of the stream. Any thread. */
size_t tic_printed_pending(void);
/* A task has ended, and so much was there when it began: if that is other now, it may have printed.
 * main() may as well, which prints again in a restart. */
void tic_printed_note_task(size_t before);
/* May any task have printed? */
bool tic_printed_by_tasks(void);

/* Writes what stdout holds. False when that is left, as another thread has the stream, or a write
 * would have to wait or fail. Any thread; a signal that a write may raise is the caller's to block.
 */
bool tic_printed_flush(void);

/* A restart skips the tasks of a line, and does not print again what they have printed. It goes out
 * before the line counts, unless another thread is held up with the stream. What main() alone
 * prints comes again in a restart, and better once; by_main: it does not come again either. */
void tic_printed_flush_for_line(bool by_main);
