/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whom a worker asks first: those that are near in the tree of the machine. */
#pragma once

struct starpu_tree;

/* The order in which a worker looks for tasks: itself, then the others, the nearest first; of those
 * that are as near the next by number, so that not everybody asks the same one. nodes: where each
 * of the `count` workers runs; NULL: unknown. Fills order[0..count-1]. */
void tic_near_order(const struct starpu_tree *const *nodes, unsigned count, unsigned worker,
                    unsigned *order);
