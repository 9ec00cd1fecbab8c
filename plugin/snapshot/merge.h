/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Done tasks, as workers list them, become part of the graph. */
#ifndef TIC_SNAPSHOT_MERGE_H
#define TIC_SNAPSHOT_MERGE_H

#include "graph/graph.h"
#include "snapshot/cut.h"

/* Empties the list, to which nobody appends any more. 0 or -errno: those that are left are tried
 * again. Checkpoint thread. */
int tic_merge_done(struct tic_graph *graph, struct tic_sequence_list *list);

#endif
