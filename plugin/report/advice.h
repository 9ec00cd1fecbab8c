/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Advice that `starpu-tic check` leaves beside the directory of a run, in the file
 * DIRECTORY.advice: which data main() touches by its plain pointer. A line of it is "log ID"
 * (number of registration), "seen FIRST LAST" (data that check has watched whenever main() had
 * waited), a comment that begins with #, or empty. */
#pragma once

#include <stdbool.h>

#include "graph/handle.h"

/* Data up to this size is not watched by check: a run logs it, if STARPU_TIC_LOOKS is not less. */
enum { TIC_ADVICE_SMALL = 4096 };

/* When the session begins, on the owner thread. A file that others may write to is ignored, with a
 * message. */
void tic_advice_read(const char *directory);
/* A file was read, whatever it says: check has told what it tells of each program. */
bool tic_advice_is_there(void);
/* Is the value of this data to be logged where main() may look at it? Any thread. */
bool tic_advice_logs(const struct tic_handle *handle);
/* Has check watched this data whenever main() had waited? Then main() reads it by its plain pointer
 * only if tic_advice_logs() says so. Any thread. */
bool tic_advice_saw(const struct tic_handle *handle);
