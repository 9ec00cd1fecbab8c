/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/initial.h"

#include <stdlib.h>

#include "base/error.h"
#include "interpose/constant.h"
#include "interpose/inputs.h"
#include "interpose/pack.h"
#include "interpose/restore.h"
#include "interpose/typed.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/task.h"
#include "session/uses.h"

struct tic_saved tic_initial_of(struct tic_handle *handle)
{
    struct tic_saved saved = tic_data_recovered_value(handle);

    if (saved.checksum != tic_graph_recorded_input(&tic_session->graph, handle->id))
        tic_data_stop_input(handle);
    return saved;
}

/* The value of a whole, with its layout: of the last one that was asked for, as its parts come one
 * after the other. Guarded by the submission lock. */
static struct {
    const struct tic_handle *whole;
    uint64_t id;
    struct tic_layout value;
} last;

static bool has_value(struct tic_handle *whole)
{
    tic_lock(&whole->lock);
    bool has = whole->current.exists;
    tic_unlock(&whole->lock);
    return has && tic_data_is_pending(whole) && tic_data_is_in_place(whole);
}

static const struct tic_layout *value_of(struct tic_handle *whole)
{
    const struct tic_saved saved = tic_data_recovered_value(whole);

    if (last.whole == whole && last.id == whole->id)
        return &last.value;
    free(last.value.base);
    last.whole = NULL;
    last.value = whole->layout;
    last.value.base = tic_or_stop(malloc(tic_layout_span(&whole->layout)));
    tic_data_write_to(whole, &saved, &last.value);
    last.whole = whole;
    last.id = whole->id;
    return &last.value;
}

void tic_initial_write_part(struct tic_handle *part)
{
    struct tic_handle *whole = part;
    uint64_t recorded = tic_graph_recorded_input(&tic_session->graph, part->id);

    while (tic_data_is_past_part(whole))
        whole = whole->parent;
    if (!has_value(whole))
        tic_data_stop_input(part);
    const struct tic_layout *value = value_of(whole);
    struct tic_layout there = part->layout;
    there.base = value->base + (part->layout.base - whole->layout.base);
    if (tic_layout_checksum(&there) != recorded && !tic_typed_is_hash_of(&there, recorded))
        tic_data_stop_input(part);
    tic_constant_refuse(part);
    tic_layout_copy(&part->layout, &there);
    part->differs = false;
}

/* ---- what tasks that are executed again read ------------------------------------------------- */

/* The line holds what came of this part. */
static bool is_lost(const struct tic_handle *handle)
{
    return tic_data_is_past_part(handle) && !tic_data_holds_values(handle);
}

/* Memory holds what main() put there, until a recovered value is written: of the handle, or of what
 * came of this part. That may be before the task runs. */
static bool holds_initial(struct tic_handle *handle)
{
    return (tic_data_is_pending(handle) || tic_data_is_past_part(handle)) &&
           !tic_data_holds_values(handle) && handle->home_node >= 0 &&
           atomic_load(&handle->holds) == 0 && handle->supported && !tic_handle_is_empty(handle) &&
           (!handle->packer || tic_pack_can_put(handle->data, UINT64_MAX));
}

/* Of data that nobody had written. True: the store has it. Else memory holds it. */
static bool find_initial(struct tic_handle *handle, struct tic_saved *saved)
{
    if (!handle->differs)
        return false;
    if (is_lost(handle)) {
        tic_initial_write_part(handle);
        return false;
    }
    *saved = tic_initial_of(handle);
    return true;
}

static bool find_locked(struct starpu_task *task, unsigned buffer, uint64_t key,
                        struct tic_saved *saved)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    struct tic_line_read read;

    if (tic_graph_find_read(&tic_session->graph, key, buffer, &read)) {
        *saved = (struct tic_saved){{read.extent, read.row}, read.checksum};
        return true;
    }
    if (!(STARPU_TASK_GET_MODE(task, buffer) & STARPU_R))
        return false;
    if (tic_task_is_ordered(task, buffer) && holds_initial(handle))
        return find_initial(handle, saved);
    if (handle->differs && is_lost(handle))
        tic_data_stop_input(handle);
    return false;
}

bool tic_initial_find_again(struct starpu_task *task, unsigned buffer, uint64_t key,
                            struct tic_saved *saved)
{
    tic_lock(&tic_session->submit);
    bool found = find_locked(task, buffer, key, saved);
    tic_unlock(&tic_session->submit);
    return found;
}
