/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEL for programs in which some order is a race: the event log extends the newest recovery line.
 *
 * Where main() alone submits, the result of each task is used on its own in a restart, when main()
 * submits the task again (forced.h). What kernels submit, or write by accesses that commute, has no
 * such order, so results of all tasks are used together: the log tells which tasks have ended since
 * the line, and a restart takes the line and these as one later cut (recovery/extend.h).
 *
 * Whom this believes: that the records of a worker are in the log in their order, which a checksum
 * tells, and that main() does nothing between the line and the cut. So a line can be extended only
 * if main() is inside a call that waits when its cut is raised, and only by tasks that begin before
 * it leaves that call. What a task depends on has ended before it begins, at an earlier tick; each
 * tick has a record, and where one is missing a restart goes no further. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

struct tic_extension {
    _Atomic bool on;          /* there is such an order; seq_cst */
    _Atomic uint64_t ticks;   /* seq_cst */
    _Atomic uint64_t calls;   /* of main() that wait, begun and ended: odd while it is inside one;
                                 owner thread writes; seq_cst */
    _Atomic uint64_t entered; /* its position, when it entered one last; seq_cst */
    _Atomic uint64_t hole;    /* the last epoch of a task that is not in the log; seq_cst */
    uint64_t run;             /* immutable after start */
    struct tic_line_log cut;  /* the one that was raised last; checkpoint thread only */
};

/* main() enters a call that waits, after its position tells so, and leaves it. Owner thread. */
void tic_extension_enter(struct tic_extension *extension, const struct tic_graph *graph);
void tic_extension_leave(struct tic_extension *extension);

/* Where main() is: four times its position, and 1 inside of the call that waits there, 2 after it,
 * or if that cannot be told. Any thread. */
enum { TIC_WHERE_INSIDE = 1, TIC_WHERE_AFTER = 2, TIC_WHERE_BITS = 2 };
uint64_t tic_extension_where(const struct tic_extension *extension, const struct tic_graph *graph);

/* ---- the checkpoint thread ------------------------------------------------------------------ */
/* Around tic_cut_raise. */
void tic_extension_before_cut(struct tic_extension *extension, const struct tic_graph *graph);
void tic_extension_after_cut(struct tic_extension *extension, const struct tic_graph *graph,
                             uint64_t cut);
/* Would a line now be one that can be extended, and the newest is none, or no more? committed: the
 * cut of the newest line, if this run has written it; else 0. */
bool tic_extension_wants_line(const struct tic_extension *extension, const struct tic_graph *graph,
                              const struct tic_line *newest, uint64_t committed);
/* A task of this epoch is not in the log: what comes after it needs the next line. Any thread. */
void tic_extension_note_hole(struct tic_extension *extension, uint64_t epoch);
