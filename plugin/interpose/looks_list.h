/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that main() and callbacks may look at, and entries of lines about it. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"

/* Data that is looked at, by ascending id; NULL: it has left. Guarded by the submission lock. */
extern struct tic_handle_list tic_looks_list;
/* Ids ascend. False without memory. */
bool tic_looks_append_locked(struct tic_handle *handle);
/* Those that have not left. Owner thread, which changes the list. */
unsigned long tic_looks_count(void);
struct tic_handle *tic_looks_find_locked(uint64_t id);
/* It leaves, in a call of main(): until that is over, its memory is where the layout says, and
 * callbacks of tasks that have used it may still look there. */
void tic_looks_drop_locked(const struct tic_handle *handle);
const struct tic_layout *tic_looks_find_leaving_locked(uint64_t id);
/* The call is over. Owner thread. */
void tic_looks_end_leaving(void);
/* Adds an entry to those of lines (FORMAT.md); bytes NULL: as it was looked at last. */
void tic_looks_append(uint64_t wait, uint64_t id, const char *bytes, uint64_t size);
/* Only its interface knows where it lies in memory of main(). */
static inline bool tic_looks_is_packed(const struct tic_handle *handle)
{
    return handle->packer && handle->home_node == STARPU_MAIN_RAM;
}

/* How many of these entries, one at least, are of the same look at the same data. */
size_t tic_looks_count_parts(const struct tic_line_look *look, size_t count);
/* Its bytes, malloc'ed. Stops without memory. */
char *tic_looks_join(const struct tic_line_look *look, size_t parts);
/* Small data that a task declares, which its callback may look at. */
struct tic_small {
    unsigned count;
    uint64_t ids[STARPU_NMAXBUFS];
};

/* Lists it; under the submission lock, or before others know the task. */
void tic_looks_list_small(struct starpu_task *task, struct tic_small *small);
/* A task has begun to write it, and counts as its writer: main() looks at it. Any thread. */
void tic_looks_list_written(struct tic_handle *handle);
static inline void tic_looks_note_write(struct tic_handle *handle)
{
    /* Read in the total order after the writer was counted: whoever clears it sees the writer. */
    if (atomic_load_explicit(&handle->use.look, memory_order_relaxed) &&
        !atomic_load(&handle->use.look_listed))
        tic_looks_list_written(handle);
}

/* Data that tasks have begun to write since main() looked at it: ids, as it may leave. */
struct tic_looks_ids {
    uint64_t *items;
    unsigned long count, capacity;
};

/* Takes them, in exchange for an array that is needed no more. Owner thread. */
void tic_looks_take_written(struct tic_looks_ids *ids);
