/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data whose content no recovery line holds (starpu_tic_data_exclude). To protection it is data
 * without content, by which StarPU orders tasks: what writes no other data is executed again in a
 * restart, in the order of the program, and so makes the content anew. The signature of main()'s
 * submissions says which data is excluded: a restart that excludes other data is stopped. So is one
 * in which a task writes other content than it did. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "graph/spawn.h"
#include "session/accesses.h"
#include "session/context.h"

/* 0; -EINVAL: it has no content, or cannot be saved anyway; -EBUSY: it was used; -ENOTSUP: it is a
 * part of other data, shares its memory, or is reduced, or StarPU has several memory nodes. Owner
 * thread. */
int tic_exclude_data(struct tic_handle *handle);

/* The same of a part of excluded data, which is new. */
void tic_exclude_now(struct tic_handle *handle);

/* Was there such data? relaxed: set before a task uses it */
extern _Atomic bool tic_exclude_any;
/* Does a restart execute the task again, if it writes no data that lines hold? Where it makes
 * content that no line holds, whatever the settings and the program say. Any thread. */
bool tic_exclude_runs_again(struct starpu_task *task);
/* Why the task cannot be protected, or NULL. Under the submission lock. */
const char *tic_exclude_refuse(const struct starpu_task *task, const struct tic_accesses *accesses,
                               enum tic_context context);
/* The kernel of a task of main() has ended, and no other task has what it wrote: compares that with
 * what it wrote in the recorded run. On its worker. */
void tic_exclude_end_slow(struct starpu_task *task, uint64_t sequence);
static inline void tic_exclude_end(struct starpu_task *task, uint64_t sequence)
{
    if (__builtin_expect(atomic_load_explicit(&tic_exclude_any, memory_order_relaxed), 0) &&
        !(sequence & TIC_SPAWN_KEY))
        tic_exclude_end_slow(task, sequence);
}
/* Is some of the data that is registered now? Any thread. */
bool tic_exclude_is_in_force(void);
