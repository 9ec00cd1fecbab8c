/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery: choosing the line that a run starts from, and answering "done?" and "which value?". */
#pragma once

#include "snapshot/snapshot.h"
#include "store/files.h"

/* Opens the store at `path` and, when it holds a recovery line of this program, loads graph and
 * snapshot from it. Does not return when the start must be refused; says why.
 * 1 recovered, 0 nothing to recover (-ENOENT when there is no directory and create is false;
 * -EALREADY when a program of this process has used it before exec: the store is open, and nothing
 * is loaded). */
int tic_recovery_open(struct tic_snapshot *snapshot, const char *path, bool create, bool sync,
                      const struct tic_h5_ops *h5);

/* Is the line of this program, started so, here? Else the start is stopped, with its reason. */
void tic_recovery_check_run(const struct tic_snapshot *snapshot, const char *path,
                            const struct tic_line *line);

/* The restart from `path` reads this file, and the recorded run did not: stops it. */
void tic_recovery_stop_other_file(const char *path, const char *name,
                                  enum tic_files_verdict verdict);

/* Was this task of the main context done at the cut that the run started from? */
static inline bool tic_recovery_is_done(const struct tic_graph *graph, uint64_t sequence)
{
    return tic_doneset_contains(&graph->recovered.done, sequence);
}

/* True when main() has submitted every done task again, and made every recorded access. Owner
 * thread. */
bool tic_recovery_is_complete(const struct tic_graph *graph);
