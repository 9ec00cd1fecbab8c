/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is in the memory of data while a restart redoes its history: what was seen there last.
 * Kernels that write no data run beside others, on what they read; so values wait for those that
 * read something else in the same memory. */
#ifndef TIC_INTERPOSE_REDO_VALUES_H
#define TIC_INTERPOSE_REDO_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

struct starpu_task;

/* One that had begun by the cut. It and its handles are freed when it has returned. */
struct tic_redo_kernel {
    uint64_t key;
    struct starpu_task *task;
    unsigned count;
    struct tic_handle **handles; /* what it accesses */
    bool runs;
    struct tic_redo_kernel *next;
};

/* Before the replay begins. Owner thread. */
void tic_redo_values_start(struct tic_graph *graph);

/* Data that shares memory has one order: that of this one. */
struct tic_handle *tic_redo_keeper(const struct tic_handle *handle);

/* Data gets the value that main(), or another actor, saw. Waits for kernels. */
void tic_redo_show(struct tic_handle *handle, const struct tic_saved *saved);

/* The kernel is to run; what it read is shown, as it begins; it has returned. Any thread. */
void tic_redo_note_kernel(struct tic_redo_kernel *kernel);
void tic_redo_show_kernel(struct tic_redo_kernel *kernel);
void tic_redo_end_kernel(uint64_t key);
/* Has some that uses the data, or data that shares its memory, not returned? */
bool tic_redo_is_used_by_kernel(const struct tic_handle *handle);

#endif
