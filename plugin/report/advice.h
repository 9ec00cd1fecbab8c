/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Advice that `starpu-tic check` leaves beside the directory of a run, in the file
 * DIRECTORY.advice: which data main() touches by its plain pointer. A line of it is "log ID"
 * (number of registration), a comment that begins with #, or empty. */
#ifndef TIC_REPORT_ADVICE_H
#define TIC_REPORT_ADVICE_H

#include <stdbool.h>

#include "graph/handle.h"

/* When the session begins, on the owner thread. A file that others may write to is ignored, with a
 * message. */
void tic_advice_read(const char *directory);
/* A file was read, whatever it says. */
bool tic_advice_is_there(void);
/* Is the value of this data to be logged where main() may look at it? Any thread. */
bool tic_advice_logs(const struct tic_handle *handle);

#endif
