/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rank of several: its lines, and what StarPU-MPI does with data (base/ranks.h). */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "replay/replay.h"
#include "session/context.h"

/* Nothing, or the start is refused: what is not there yet for several ranks. */
void tic_ranks_check(const struct tic_settings *settings);
/* The directory of this rank's lines in that of the job, malloc'ed, which are of this program as a
 * rank, and of no other; NULL: no memory. */
char *tic_ranks_directory(const char *directory, struct tic_snapshot *snapshot);
/* The session is opened; before its checkpoint thread runs. continues: from a line. */
void tic_ranks_join(struct tic_session *session, bool continues);
/* The directory of the job; NULL: not opened. */
const char *tic_ranks_job(void);

static inline const struct tic_ranks *tic_ranks_here(void)
{
    return tic_session ? tic_session->snapshot.ranks : NULL;
}
/* Is it StarPU-MPI that asks for an access, or gives one back? Then it is no call of main(). */
static inline bool tic_ranks_takes_access(starpu_data_handle_t data, const void *caller,
                                          void (**callback)(void *), void **argument)
{
    const struct tic_ranks *ranks = tic_ranks_here();

    return __builtin_expect(ranks != NULL, 0) &&
           ranks->takes_access(data, caller, callback, argument);
}
static inline bool tic_ranks_takes_release(starpu_data_handle_t data, const void *caller)
{
    const struct tic_ranks *ranks = tic_ranks_here();

    return __builtin_expect(ranks != NULL, 0) && ranks->takes_release(data, caller);
}
static inline bool tic_ranks_is_caller(const void *caller)
{
    const struct tic_ranks *ranks = tic_ranks_here();

    return __builtin_expect(ranks != NULL, 0) && ranks->is_caller(caller);
}
/* StarPU-MPI's barrier waits for tasks, as their ends may give it sends; sends that are held are
 * waited for there, too. */
static inline void tic_ranks_settle(const void *caller)
{
    if (tic_ranks_is_caller(caller))
        tic_ranks_here()->await_sends();
}

/* main() is to use data; also after the end of protection, as it may have still to come back. */
static inline void tic_ranks_come(starpu_data_handle_t data, enum tic_ranks_use use)
{
    const struct tic_ranks *ranks = tic_ranks_here();

    if (__builtin_expect(ranks != NULL, 0) && tic_session_is_owner() && tic_guard == 0 &&
        !tic_replay_plays())
        ranks->come(data, use);
}

/* struct tic_ranks_core has them. */
void *tic_ranks_open_part(const char *folder, const char *name);
void *tic_ranks_part_value(void *part, uint64_t id, size_t *size);
