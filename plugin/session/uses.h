/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How data was used and written by what main() submitted so far. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/family.h"
#include "graph/handle.h"
#include "session/context.h"

/* main() uses it after so many submissions; under the submission lock. */
void tic_data_note_main_use_of_overlaps(struct tic_handle *handle, bool writes,
                                        uint64_t submissions);
static inline void tic_data_note_main_use(struct tic_handle *handle, bool writes,
                                          uint64_t submissions)
{
    if (!handle)
        return;
    *(writes ? &handle->use.main_used.written : &handle->use.main_used.read) = submissions;
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
    /* Of which no line has a value, because main() was changing it, say: versions count all writes,
     * and those of this run come after it. */
    if (!live && !handle->restart.pending && !handle->restart.live && !handle->restart.restored &&
        !handle->family && handle->empty == TIC_WITH_CONTENT)
        atomic_fetch_add_explicit(&handle->saving.version, 1, memory_order_relaxed);
    handle->use.submitted_writes++;
    handle->restart.live |= live;
    handle->restart.delivered &= !live;
    if (handle->family)
        tic_data_note_family_write(handle, live);
    else if (atomic_load_explicit(&handle->use.invalid, memory_order_relaxed))
        tic_data_note_valid(handle);
}

/* The program has got an access (may be NULL), or waits for one by callback; or gives it back. Any
 * thread. */
void tic_data_note_hold(struct tic_handle *handle, bool holds);

/* Did tasks that were submitted so far write its value? Else it is what main() put there. */
static inline bool tic_data_holds_values(const struct tic_handle *handle)
{
    return handle->use.submitted_writes > 0 || handle->use.derived ||
           (handle->family && handle->family->submitted_writes > 0);
}

/* Had somebody declared to write it by the recovered cut, to whom main() may have still to come?
 * Stores of versions up to 0.2 count other changes, too. */
static inline bool tic_data_was_written(const struct tic_handle *handle)
{
    return atomic_load(&handle->saving.version) > 0 && !tic_session->graph.history.absent;
}

static inline bool tic_data_is_pending(const struct tic_handle *handle)
{
    return handle->family ? handle->family->pending : handle->restart.pending;
}

/* In a replay: a part of data that is whole again in the recovered cut. */
static inline bool tic_data_is_past_part(const struct tic_handle *handle)
{
    return handle->parent && handle->parent->restart.partition_over;
}
