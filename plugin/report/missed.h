/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU that ran in this process, and whose calls did not come to us. */
#pragma once

#include <stdbool.h>

/* The program starts StarPU, and we see it. Any thread. */
void tic_missed_note_start(void);
/* Has it? Any thread. */
bool tic_missed_has_start(void);
