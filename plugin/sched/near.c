/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whom a worker asks first: those that are near in the tree of the machine. */
#include "sched/near.h"

#include <limits.h>
#include <starpu.h>
#include <stdbool.h>

static bool is_below(const struct starpu_tree *node, const struct starpu_tree *above)
{
    while (node && node != above)
        node = node->father;
    return node != NULL;
}

/* Steps up from one to what both are below. */
static unsigned distance(const struct starpu_tree *from, const struct starpu_tree *to)
{
    unsigned steps = 0;

    while (from && !is_below(to, from)) {
        from = from->father;
        steps++;
    }
    return from && to ? steps : UINT_MAX;
}

void tic_near_order(const struct starpu_tree *const *nodes, unsigned count, unsigned worker,
                    unsigned *order)
{
    order[0] = worker;
    for (unsigned i = 1; i < count; i++) { /* insertion keeps the order of those as near */
        unsigned other = (worker + i) % count, at = i;
        unsigned mine = distance(nodes[worker], nodes[other]);
        while (at > 1 && distance(nodes[worker], nodes[order[at - 1]]) > mine) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = other;
    }
}
