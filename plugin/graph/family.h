/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A family: handles that share memory, because partitions of one of them, the root, were planned,
 * or because the program registered the same memory several times.
 *
 * Whoever writes, versions count up through the whole family. A cut needs the last value of each
 * member; applied in the order of versions they are the memory of the root: parts of an older value
 * that were written since are overwritten by the newer ones. StarPU, or the program, lets nobody
 * write a member while an overlapping one is used. */
#pragma once

#include "graph/graph.h"

/* The children, just registered, join the family of their parent. 0 or -ENOMEM. */
int tic_family_join(struct tic_graph *graph, struct tic_handle *parent,
                    struct tic_handle **children, unsigned count);
/* A handle with memory of main(), just registered: joins the family of those that share it.
 * 0; -ENOMEM; -ENOTSUP: it would join two families. */
int tic_family_meet(struct tic_graph *graph, struct tic_handle *handle);
/* It is unregistered, or no longer to be met. */
void tic_family_part(struct tic_graph *graph, struct tic_handle *handle);
/* Members that overlap a handle, whose value is due for a cut or not compared with their memory: a
 * new array, or NULL if there are none (*count 0) or no memory (*count > 0). */
struct tic_handle **tic_family_due(struct tic_graph *graph, struct tic_handle *handle, uint64_t cut,
                                   unsigned long *count);
/* True when a part of it was written since its own last write. */
bool tic_family_is_stale(struct tic_graph *graph, const struct tic_handle *handle);
/* Does the whole, which has no gaps, hold all memory of the part? */
bool tic_family_covers(const struct tic_layout *whole, const struct tic_layout *part);
/* Planned parts that were unregistered leave the graph once the root, or another member with all of
 * their memory, was written since. In epoch.
 * False when out of memory. */
bool tic_family_prune(struct tic_graph *graph, struct tic_family *family, uint64_t epoch);
/* All members whose value waits to be restored, in the order of versions: a new array, NULL when
 * there are none. The submission lock. */
struct tic_handle **tic_family_pending(struct tic_graph *graph, struct tic_family *family,
                                       unsigned long *count);
