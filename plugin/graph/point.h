/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commit points (starpu_tic.h): places where all that main() needs to go on is in registered data
 * and in variables that it has named.
 *
 * A line of a commit point holds nothing of what main() did before. A restart runs main() up to its
 * first commit point anew, tasks and all, and goes on there with data, variables and numbers of the
 * line. Only events, and the hashes of initial content, are told again up to the first commit
 * point; so they are all of its history that such lines hold.
 *
 * Whom this believes: main(), that its state at a commit point is in these places, or is what it
 * was at the first commit point; and that StarPU knows no more of it than data. What can be checked
 * of that is: place, variables, submissions up to the first commit point, registered data. */
#pragma once

#include "graph/graph.h"

/* The first commit point of this run. */
struct tic_point_first {
    bool is_known;
    uint64_t task, signature, handle, registered, starts; /* as in struct tic_line_point */
    unsigned long data;                                   /* so many were registered */
    struct tic_tail inputs, events;                       /* by then */
};

/* main() is there. Owner thread. 0 or -ENOMEM. */
int tic_point_note_first(struct tic_point_first *first, struct tic_graph *graph);
void tic_point_fini(struct tic_point_first *first);

/* Is some data planned to be partitioned? While tasks are skipped it is not known which plans are
 * in force. Owner thread. */
bool tic_point_has_plans(struct tic_graph *graph);
/* What a later commit point must have in common with the first; NULL: it has. Else why not, in
 * words, up to `size` bytes of them in `text`. Owner thread. */
const char *tic_point_compare(const struct tic_point_first *first, struct tic_graph *graph,
                              char *text, size_t size);
/* A line of a commit point where main() is now: all numbers but that of the call. */
void tic_point_describe(const struct tic_point_first *first, struct tic_graph *graph,
                        struct tic_line_point *point);

/* No line will need what main() did up to now, as all will be of commit points. Whoever calls: no
 * task runs, and main() waits. */
void tic_point_forget(struct tic_graph *graph);
/* Fills a line with what it holds of the graph but values, as tic_graph_describe does for others.
 * Checkpoint thread. 0 or -ENOMEM. */
int tic_point_fill(const struct tic_point_first *first, struct tic_graph *graph, uint64_t tasks,
                   struct tic_line *line);

/* A restart: the values of the line become those of the data, which wait to be restored, and its
 * numbers those of main(). Under the submission lock; no task runs. */
void tic_point_take_over(struct tic_graph *graph);
