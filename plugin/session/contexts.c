/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/contexts.h"

static bool has_contexts; /* guarded by the submission lock */

bool tic_hooks_has_contexts(void)
{
    return has_contexts;
}

void tic_contexts_note_other(void)
{
    has_contexts = true;
}
