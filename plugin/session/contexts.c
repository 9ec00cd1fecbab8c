/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/contexts.h"

#include "session/context.h"

static bool has_contexts; /* guarded by the submission lock */

void tic_hooks_push(struct starpu_task *task)
{
    tic_session->policies[task->sched_ctx].push_task(task);
}

bool tic_hooks_has_contexts(void)
{
    return has_contexts;
}

void tic_contexts_note_other(void)
{
    has_contexts = true;
}
