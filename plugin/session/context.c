/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/context.h"

#include <dlfcn.h>

struct tic_session *tic_session;

__thread bool tic_is_owner __attribute__((tls_model("initial-exec")));
__thread int tic_in_callback __attribute__((tls_model("initial-exec")));

/* OpenMP's, if the program has one: who of a team submits what can be a race, whoever main() is. */
static int (*is_in_team)(void);

enum tic_context tic_session_context(void)
{
    if (tic_in_callback > 0)
        return TIC_CONTEXT_CALLBACK;
    if (tic_real.starpu_task_get_current())
        return TIC_CONTEXT_TASK;
    if (tic_is_owner)
        return is_in_team && is_in_team() ? TIC_CONTEXT_THREAD : TIC_CONTEXT_MAIN;
    return tic_real.starpu_worker_get_id() >= 0 ? TIC_CONTEXT_STARPU : TIC_CONTEXT_THREAD;
}

void tic_session_own(void)
{
    tic_is_owner = true;
    *(void **)&is_in_team = dlsym(RTLD_DEFAULT, "omp_in_parallel");
}

/* ---- scheduling contexts --------------------------------------------------------------------- */

/* Scheduling contexts. */

static bool has_contexts; /* guarded by the submission lock */

bool tic_hooks_has_contexts(void)
{
    return has_contexts;
}

void tic_contexts_note_other(void)
{
    has_contexts = true;
}

/* ---- the clock of main() --------------------------------------------------------------------- */

/* The clock of main(): its operations on tasks and data. */

uint64_t tic_clock_now(void)
{
    return atomic_load(&tic_session->graph.clock);
}
