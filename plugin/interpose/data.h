/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the application: registration, what main() gets back, and how it was used. Registration,
 * unregistration and partitions: on the owner thread. */
#ifndef TIC_INTERPOSE_DATA_H
#define TIC_INTERPOSE_DATA_H

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/family.h"
#include "graph/handle.h"

/* A record of it. NULL: protection has ended. */
struct tic_handle *tic_data_add(starpu_data_handle_t data, int home_node);
/* main() may have put something there, and may go on with that until a task mentions it. */
void tic_data_take_content(struct tic_handle *handle);
/* Does a task write it, or a handle that shares its memory? */
bool tic_data_has_task_values(const struct tic_handle *handle);
/* Its accumulators leave the graph before it does. */
void tic_data_end_helpers(struct tic_handle *handle);
/* The program is about to give it back to StarPU, where tasks may end that have used it. */
void tic_data_leave(struct tic_handle *handle);
/* Drops members of the family that no line needs. */
void tic_data_prune(struct tic_family *family);
/* StarPU shuts down: data without a home that is still registered leaves. */
void tic_data_leave_all(void);
void tic_data_on_register_after(starpu_data_handle_t data, int home_node);
void tic_data_on_unregister_before(starpu_data_handle_t data, bool coherent);
/* StarPU is about to forget the value, and to free its memory if that is not main()'s. */
void tic_data_on_invalidate_before(struct tic_handle *handle);
void tic_data_on_unregister_submit_before(starpu_data_handle_t data);
/* Waits until every submitted task that uses the handle has ended. */
void tic_data_wait(struct tic_handle *handle);
/* Stops the start: what a task reads first is not what it was. */
_Noreturn void tic_data_stop_input(const struct tic_handle *handle);
/* main() uses it after so many submissions; under the submission lock. */
void tic_data_note_main_use_of_overlaps(struct tic_handle *handle, bool writes,
                                        uint64_t submissions);
static inline void tic_data_note_main_use(struct tic_handle *handle, bool writes,
                                          uint64_t submissions)
{
    if (!handle)
        return;
    *(writes ? &handle->main_written : &handle->main_read) = submissions;
    if (handle->family)
        tic_data_note_main_use_of_overlaps(handle, writes, submissions);
}

/* A task that writes it is submitted, or, if not live, was and is done; under the submission lock.
 */
void tic_data_note_family_write(struct tic_handle *handle, bool live);
/* Something is written into it (may be NULL). */
void tic_data_note_valid(struct tic_handle *handle);
static inline void tic_data_note_write(struct tic_handle *handle, bool live)
{
    handle->submitted_writes++;
    handle->live |= live;
    if (handle->family)
        tic_data_note_family_write(handle, live);
    else if (atomic_load_explicit(&handle->invalid, memory_order_relaxed))
        tic_data_note_valid(handle);
}

/* A task uses the handle: hashes its initial content if the first that does reads it. */
void tic_data_note_use(struct tic_handle *handle, bool reads);
/* Did tasks that were submitted so far write its value? Else it is what main() put there. */
static inline bool tic_data_holds_values(const struct tic_handle *handle)
{
    return handle->submitted_writes > 0 || handle->derived ||
           (handle->family && handle->family->submitted_writes > 0);
}

/* It, or what shares its memory, holds a value of this run; a recovered value waits. */
static inline bool tic_data_is_live(const struct tic_handle *handle)
{
    return handle->family ? handle->family->live : handle->live;
}

static inline bool tic_data_is_pending(const struct tic_handle *handle)
{
    return handle->family ? handle->family->pending : handle->pending;
}

/* In a replay: a part of data that is whole again in the recovered cut. */
static inline bool tic_data_is_past_part(const struct tic_handle *handle)
{
    return handle->parent && handle->parent->partition_over;
}

#endif
