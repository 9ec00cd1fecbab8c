/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scheduling contexts. */
#ifndef TIC_SESSION_CONTEXTS_H
#define TIC_SESSION_CONTEXTS_H

#include <stdbool.h>

/* Tasks were submitted to other contexts than the first. */
bool tic_hooks_has_contexts(void);
/* One is. Under the submission lock. */
void tic_contexts_note_other(void);

#endif
