/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery lines of commit points, on the side of the checkpoint thread. */
#include "snapshot/point.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"

enum {
    LATE = 10,
    LATE_PERIODS = 10
}; /* seconds; both: without a commit point until that is said */

/* All that main() has done is known, so a line need not be of a commit point. */
static bool may_do_without(const struct tic_point *point, double waited, double patience)
{
    return tic_point_has_history(point) && waited >= patience;
}

static void tell_late(struct tic_point *point, double waited, double period)
{
    if (point->told_late || waited < LATE || waited < LATE_PERIODS * period)
        return;
    point->told_late = true;
    tic_log(TIC_LOG_WARN,
            "a recovery line is due for %.0f seconds: main() came to no commit point; starpu-tic "
            "explain commit-point",
            waited);
}

bool tic_point_may_begin_locked(struct tic_point *point, double patience)
{
    const uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);
    enum tic_point_state state = tic_point_state(point);

    if (!atomic_load_explicit(&point->usable, memory_order_relaxed))
        return true;
    if (state == TIC_POINT_IDLE) {
        point->wanted_ns = now;
        state = TIC_POINT_WANTED;
        atomic_store_explicit(&point->state, TIC_POINT_WANTED, memory_order_relaxed);
    }
    double waited = (double)(now - point->wanted_ns) * 1e-9;
    if (state == TIC_POINT_WANTED && may_do_without(point, waited, patience)) {
        atomic_store_explicit(&point->state, TIC_POINT_IDLE, memory_order_relaxed);
        return true;
    }
    if (state == TIC_POINT_WANTED)
        tell_late(point, waited, patience);
    return state == TIC_POINT_OFFERED;
}

static char *duplicate(const void *items, size_t size)
{
    char *copy = malloc(size + 1);

    if (copy && size > 0)
        memcpy(copy, items, size);
    return copy;
}

int tic_point_describe_line(struct tic_point *point, struct tic_graph *graph, struct tic_line *line)
{
    int status = tic_point_fill(&point->first, graph, point->now.now_task, line);

    if (status)
        return status;
    line->point = point->now;
    line->point.names.text = duplicate(point->now.names.text, point->now.names.size);
    line->point.bytes.items =
        (unsigned char *)duplicate(point->now.bytes.items, point->now.bytes.count);
    line->clock = line->waits = 0; /* no value waits for an operation of main() */
    line->log = (struct tic_line_log){.tick = 0};
    return line->point.names.text && line->point.bytes.items ? 0 : -ENOMEM;
}

void tic_point_drop(struct tic_point *point)
{
    free(point->now.names.text);
    free(point->now.bytes.items);
    point->now = (struct tic_line_point){.number = 0};
}

void tic_point_free(struct tic_point *point)
{
    tic_point_drop(point);
    tic_point_fini(&point->first);
}
