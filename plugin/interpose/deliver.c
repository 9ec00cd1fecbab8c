/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was logged (reads.c), delivered in a replay. */
#include "interpose/deliver.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/initial.h"
#include "session/lookup.h"
#include "interpose/order.h"
#include "interpose/position.h"
#include "interpose/restore.h"
#include "interpose/shown.h"
#include "session/task.h"

/* Handles made for the task that this thread is about to submit: copies, or aliases. */
struct delivery {
    starpu_data_handle_t copy, original;
    unsigned buffer;
};

static __thread struct {
    struct delivery *items;
    unsigned long count, capacity;
} made __attribute__((tls_model("initial-exec")));

static bool writes_nothing(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    for (unsigned i = 0; i < buffers; i++)
        if (STARPU_TASK_GET_MODE(task, i) & STARPU_W &&
            !tic_handle_is_empty(tic_handle_of(STARPU_TASK_GET_HANDLE(task, i))))
            return false;
    return buffers > 0;
}

static void deliver(struct starpu_task *task, unsigned buffer, const struct tic_saved *saved)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    void *grown = tic_grow(made.items, &made.capacity, made.count + 1, sizeof(*made.items));
    starpu_data_handle_t copy = NULL;

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    made.items = grown;
    tic_guard++;
    if (tic_shown_may(handle, task)) {
        copy = tic_shown_register(handle, saved);
    } else {
        tic_real.starpu_data_register_same(&copy, handle->data);
        if (!tic_data_fill(copy, handle, saved, task))
            tic_stop(TIC_EXIT_REFUSED, "cannot deliver what task \"%s\" read in the recorded run",
                     tic_task_name(task));
    }
    made.items[made.count++] = (struct delivery){copy, handle->data, buffer};
    tic_guard--;
    STARPU_TASK_SET_HANDLE(task, copy, buffer);
}

/* Before the cut. */
static bool has_ended(uint64_t key)
{
    return tic_session->settings.verify == 0 ||
           (tic_position_is_ahead() && tic_graph_has_run(&tic_session->graph, key));
}

bool tic_reads_deliver(struct starpu_task *task, uint64_t key)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    if (!tic_session->recovered)
        return false;
    if (tic_position_is_to_gate(task, key)) /* when it runs all these have run */
        return false;
    bool again = !tic_position_is_ahead() || tic_graph_has_run(&tic_session->graph, key);
    if (!writes_nothing(task) || !again)
        tic_order_follow(task, true);
    if (!writes_nothing(task))
        return false;
    if (again && (key & TIC_SPAWN_KEY || key < tic_session->recovered_submissions))
        tic_order_again(task, key);
    for (unsigned i = 0; i < buffers; i++) {
        struct tic_saved saved;
        enum tic_source source = tic_initial_find_source(task, i, key, has_ended(key), &saved);
        if (source != TIC_SOURCE_UNCHANGED)
            deliver(task, i, source == TIC_SOURCE_SAVED ? &saved : NULL);
    }
    return made.count > 0;
}

static void unregister(const struct delivery *items, unsigned long count)
{
    tic_guard++;
    while (count > 0)
        tic_real.starpu_data_unregister_submit(items[--count].copy);
    tic_guard--;
}

void tic_reads_after_submit(bool accepted)
{
    tic_order_after_submit(accepted);
    unregister(made.items, made.count);
    made.count = 0;
}

/* ---- structures that stay with the application ------------------------------------------------
 */

struct tic_lent {
    unsigned long count;
    struct delivery items[];
};

struct tic_lent *tic_reads_lend(struct starpu_task *task)
{
    size_t bytes = made.count * sizeof(*made.items);

    if (made.count == 0 || task->destroy)
        return NULL;
    struct tic_lent *lent = malloc(sizeof(*lent) + bytes);
    if (!lent)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    lent->count = made.count;
    memcpy(lent->items, made.items, bytes);
    made.count = 0;
    return lent;
}

void tic_reads_put_back(struct starpu_task *task, const struct tic_lent *lent)
{
    for (unsigned long i = 0; lent && i < lent->count; i++)
        STARPU_TASK_SET_HANDLE(task, lent->items[i].original, lent->items[i].buffer);
}

void tic_reads_end_loan(struct tic_lent *lent)
{
    if (lent)
        unregister(lent->items, lent->count);
    free(lent);
}
