/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery lines of commit points: when one is due, main() waits at its next commit point until all
 * tasks have ended, hands over its variables, and goes on when the cut is taken.
 *
 * Lines of commit points begin with the first that is due after main()'s first commit point. From
 * then on all are: what main() did before is forgotten. Until then, a line that main() does not
 * come to a commit point for is an ordinary one. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/point.h"

enum tic_point_state {
    TIC_POINT_IDLE,
    TIC_POINT_WANTED,  /* a line is due */
    TIC_POINT_COMING,  /* main() is at a commit point, and waits for tasks */
    TIC_POINT_OFFERED, /* tasks have ended, and main() waits for the cut */
};

struct tic_point {
    struct tic_point_first first; /* owner thread; others once main() waits at a later one */
    struct tic_line_point now; /* whoever has it: main() until OFFERED, then the checkpoint thread
                                  until it commits, or gives up */
    _Atomic int state;      /* enum tic_point_state; changed under the snapshot's lock; relaxed */
    _Atomic bool usable;    /* main() has been at its first commit point, and may wait at others;
                               relaxed */
    _Atomic bool forgotten; /* what main() did before is: all lines are of commit points; seq_cst */
    _Atomic bool resumes;   /* main() has not come to where it goes on from a line; seq_cst */
    uint64_t counted;   /* owner thread only: multiples of `every` that main() has come to a commit
                           point after */
    uint64_t wanted_ns; /* guarded by the snapshot's lock: since then; CLOCK_MONOTONIC */
    bool told_late;     /* checkpoint thread only */
    unsigned lines;     /* checkpoint thread only: committed ones of commit points */
};

/* Does a line need what main() does now? */
static inline bool tic_point_has_history(const struct tic_point *point)
{
    return !atomic_load(&point->forgotten);
}

static inline enum tic_point_state tic_point_state(const struct tic_point *point)
{
    return (enum tic_point_state)atomic_load_explicit(&point->state, memory_order_relaxed);
}

/* ---- the checkpoint thread ------------------------------------------------------------------- */
/* A line is due: may it be taken now? If not, main() is asked to come; `patience`: seconds after
 * which an ordinary line is taken instead, if one can be. Under the snapshot's lock. */
bool tic_point_may_begin_locked(struct tic_point *point, double patience);
/* Is the line that is being taken one of a commit point? Then main() waits. */
static inline bool tic_point_is_offered(const struct tic_point *point)
{
    return tic_point_state(point) == TIC_POINT_OFFERED;
}
/* Puts what main() has handed over into a line. 0 or -ENOMEM. */
int tic_point_describe_line(struct tic_point *point, struct tic_graph *graph,
                            struct tic_line *line);
/* What is handed over is not needed any more. */
void tic_point_drop(struct tic_point *point);

void tic_point_free(struct tic_point *point);
