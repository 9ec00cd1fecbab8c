/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks may look at by their own pointers: logged, and given back. */
#ifndef TIC_INTERPOSE_LOOKS_H
#define TIC_INTERPOSE_LOOKS_H

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "graph/handle.h"

/* main() begins a call that waits for tasks. */
void tic_looks_enter(void);
/* And comes back from it: what it may look at by pointer is logged, or given back. */
void tic_looks_leave(void);
/* Adds an entry to those of lines (FORMAT.md); bytes NULL: as it was looked at last. */
void tic_looks_append(uint64_t wait, uint64_t id, const char *bytes, uint64_t size);
/* Small data that a task declares, which its callback may look at. */
struct tic_small {
    unsigned count;
    uint64_t ids[STARPU_NMAXBUFS];
};

/* Lists it; under the submission lock, or before others know the task. */
void tic_looks_list_small(struct starpu_task *task, struct tic_small *small);
/* Before the callback of this task: logs them; in a restart gives them back. Any thread. */
void tic_looks_note_callback(const struct tic_small *small, uint64_t key);
void tic_looks_show_callback(uint64_t key);
/* Is there something to give back to it? */
bool tic_looks_has_callback(uint64_t key);
/* A task has begun to write it, and counts as its writer: main() looks at it. Any thread. */
void tic_looks_list_written(struct tic_handle *handle);
static inline void tic_looks_note_write(struct tic_handle *handle)
{
    /* Read in the total order after the writer was counted: whoever clears it sees the writer. */
    if (atomic_load_explicit(&handle->look, memory_order_relaxed) &&
        !atomic_load(&handle->look_listed))
        tic_looks_list_written(handle);
}

/* The data was registered, or leaves. */
void tic_looks_add(struct tic_handle *handle);
void tic_looks_remove(struct tic_handle *handle);
/* Of the time, for comparing what nobody declares to write. */
enum { TIC_LOOKS_PERCENT = 1 };

/* Data that is looked at, by ascending id. Guarded by the submission lock. */
extern struct tic_handle_list tic_looks_list;
struct tic_handle *tic_looks_find_locked(uint64_t id);
/* There is, or was, memory that is main()'s own. */
extern _Atomic bool tic_looks_visible;

#endif
