/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scheduling contexts, and the policies that they had before ours stood around them. */
#ifndef TIC_SESSION_CONTEXTS_H
#define TIC_SESSION_CONTEXTS_H

#include <starpu.h>
#include <stdbool.h>

/* The task goes to the policy of its context. */
void tic_hooks_push(struct starpu_task *task);
/* Tasks were submitted to other contexts than the first. */
bool tic_hooks_has_contexts(void);
/* One is. Under the submission lock. */
void tic_contexts_note_other(void);

#endif
