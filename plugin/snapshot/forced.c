/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forced checkpoints. */
#include "snapshot/forced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "snapshot/suspend.h"

/* What a restart keeps in memory at most; the rest is executed again. */
#define MOST_RECOVERED (UINT64_C(1) << 30)

/* ---- a worker ------------------------------------------------------------------------------- */

/* May this worker spend more time on forced checkpoints? */
static bool is_in_budget(struct tic_snapshot *snapshot, const struct tic_slot *slot, uint64_t now)
{
    if (slot->forced_ns * 100 <= (now - snapshot->started_ns) * snapshot->forced_percent)
        return true;
    if (!atomic_exchange(&snapshot->over_budget, true))
        tic_log(TIC_LOG_DETAIL,
                "thefts are frequent: not every stolen task gets a forced checkpoint, or more than "
                "%lu %% of the time would go there (STARPU_TIC_FORCED)",
                snapshot->forced_percent);
    return false;
}

/* Its value and where it is, saved if need be. 0, -EAGAIN no row is free, -EBUSY, other -errno. */
static int save_output(struct tic_snapshot *snapshot, struct tic_handle *handle,
                       struct tic_forced_output *output, struct tic_row *row)
{
    int status = 0;

    tic_lock(&handle->lock);
    if (atomic_load_explicit(&handle->writers, memory_order_acquire) != 1)
        status = -EBUSY; /* somebody writes it without waiting for us */
    else if (atomic_load(&handle->dirty_since) != 0)
        status = tic_snapshot_save_locked(snapshot, handle);
    struct tic_saved saved = handle->current.saved;
    tic_unlock(&handle->lock);
    *row = saved.row;
    output->id = handle->id;
    return status ? status : tic_forced_describe(snapshot->store, &saved, output);
}

static int append(struct tic_snapshot *snapshot, const struct tic_forced_result *result)
{
    tic_lock(&snapshot->graph->lock);
    void *grown = tic_grow(snapshot->forced, &snapshot->forced_capacity, snapshot->forced_count + 1,
                           sizeof(*snapshot->forced));
    if (grown) {
        snapshot->forced = grown;
        snapshot->forced[snapshot->forced_count++] = *result;
    }
    tic_unlock(&snapshot->graph->lock);
    return grown ? 0 : -ENOMEM;
}

static int force(struct tic_snapshot *snapshot, const struct tic_handle_list *writing,
                 struct tic_forced_result *result)
{
    int status = 0;

    result->forced.count = writing->count;
    for (unsigned long i = 0; i < writing->count && status == 0; i++)
        status =
            save_output(snapshot, writing->items[i], &result->forced.outputs[i], &result->rows[i]);
    status = status ? status : tic_forced_write(snapshot->store, &result->forced, &result->record);
    if (status)
        return status;
    status = append(snapshot, result);
    tic_rows_settle(&snapshot->store->rows, result->record);
    return status;
}

void tic_snapshot_force(struct tic_snapshot *snapshot, struct tic_slot *slot,
                        struct tic_forced *forced)
{
    struct tic_forced_result result = {.forced = *forced};
    uint64_t start = tic_snapshot_nanoseconds(CLOCK_MONOTONIC);

    if (slot->writing.count == 0 || slot->writing.count > TIC_FORCED_OUTPUTS ||
        tic_snapshot_is_broken(snapshot) || atomic_load(&snapshot->suspended) ||
        !is_in_budget(snapshot, slot, start))
        return;
    result.forced.time = tic_snapshot_nanoseconds(CLOCK_REALTIME);
    int status = force(snapshot, &slot->writing, &result);
    for (int tries = 0; status == -EAGAIN && tries < 3; tries++) {
        for (unsigned long i = 0; i < slot->writing.count; i++)
            tic_snapshot_want_row(snapshot, slot->writing.items[i]);
        status = force(snapshot, &slot->writing, &result);
    }
    slot->forced_ns += tic_snapshot_nanoseconds(CLOCK_MONOTONIC) - start;
    if (status == 0)
        atomic_fetch_add_explicit(&snapshot->forced_saved, 1, memory_order_relaxed);
    else if (status != -EAGAIN && status != -EBUSY && status != -ECANCELED)
        tic_snapshot_suspend(snapshot, status); /* a restart executes the task again */
}

/* ---- recovery ------------------------------------------------------------------------------- */

struct search {
    struct tic_snapshot *snapshot;
    const struct tic_line *line;
    uint64_t bytes;
    int status;
};

static bool is_done(const struct tic_line *line, uint64_t sequence)
{
    size_t low = 0, high = line->done_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (line->done[middle].last < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < line->done_count && line->done[low].first <= sequence;
}

static void forget(struct tic_forced_result *result)
{
    for (unsigned i = 0; i < TIC_FORCED_OUTPUTS; i++) {
        free(result->values[i]);
        result->values[i] = NULL;
    }
}

/* What main() had seen by then must be in the line, or it may see something else this time. */
static bool note_found(void *arg, const struct tic_forced *forced)
{
    struct search *search = arg;
    struct tic_snapshot *snapshot = search->snapshot;
    struct tic_forced_result result = {.forced = *forced};

    if (is_done(search->line, forced->sequence) || forced->events > search->line->event_count)
        return false;
    for (unsigned i = 0; i < forced->count; i++)
        search->bytes += forced->outputs[i].bytes;
    if (search->bytes > MOST_RECOVERED)
        return true;
    for (unsigned i = 0; i < forced->count; i++) {
        result.values[i] = tic_forced_read(snapshot->store, &forced->outputs[i]);
        if (!result.values[i]) {
            forget(&result);
            return false;
        }
    }
    void *grown = tic_grow(snapshot->recovered_forced, &snapshot->recovered_forced_capacity,
                           snapshot->recovered_forced_count + 1, sizeof(result));
    if (!grown) {
        forget(&result);
        search->status = -ENOMEM;
        return true;
    }
    snapshot->recovered_forced = grown;
    snapshot->recovered_forced[snapshot->recovered_forced_count++] = result;
    return false;
}

static int by_sequence(const void *a, const void *b)
{
    const struct tic_forced_result *x = a, *y = b;
    return x->forced.sequence < y->forced.sequence ? -1 : x->forced.sequence > y->forced.sequence;
}

int tic_snapshot_find_forced(struct tic_snapshot *snapshot, const struct tic_line *line)
{
    struct search search = {.snapshot = snapshot, .line = line};
    int status = tic_forced_walk(snapshot->store, line, note_found, &search);

    if (snapshot->recovered_forced_count > 0)
        qsort(snapshot->recovered_forced, snapshot->recovered_forced_count,
              sizeof(*snapshot->recovered_forced), by_sequence);
    return status ? status : search.status;
}

static int save_again(struct tic_snapshot *snapshot, struct tic_forced_result *result)
{
    struct tic_store *store = snapshot->store;
    int status = 0;

    for (unsigned i = 0; i < result->forced.count && status == 0; i++) {
        struct tic_forced_output *output = &result->forced.outputs[i];
        struct tic_layout layout = {
            .shape = {1, 1, {output->bytes, 1, 1, 1}}, .base = result->values[i], .stride = {1}};
        struct tic_demand demand = {layout.shape, 1};
        struct tic_saved saved;
        status = tic_store_provide(store, &demand, 1);
        status = status ? status : tic_store_save(store, &layout, &saved);
        status = status ? status : tic_forced_describe(store, &saved, output);
        result->rows[i] = saved.row;
    }
    status = status ? status : tic_forced_write(store, &result->forced, &result->record);
    if (status)
        return status;
    struct tic_forced_result known = *result;
    memset(known.values, 0, sizeof(known.values));
    status = append(snapshot, &known);
    for (unsigned i = 0; i < result->forced.count; i++)
        tic_rows_settle(&store->rows, result->rows[i]);
    tic_rows_settle(&store->rows, result->record);
    return status;
}

int tic_snapshot_keep_forced(struct tic_snapshot *snapshot)
{
    int status = 0;

    for (unsigned long i = 0; i < snapshot->recovered_forced_count && status == 0; i++) {
        status = tic_forced_provide(snapshot->store);
        status = status ? status : save_again(snapshot, &snapshot->recovered_forced[i]);
    }
    return status;
}

const struct tic_forced_result *tic_snapshot_forced_of(const struct tic_snapshot *snapshot,
                                                       uint64_t sequence)
{
    struct tic_forced_result key = {.forced = {.sequence = sequence}};

    return snapshot->recovered_forced_count == 0
               ? NULL
               : bsearch(&key, snapshot->recovered_forced, snapshot->recovered_forced_count,
                         sizeof(key), by_sequence);
}

void tic_snapshot_forget_forced(struct tic_snapshot *snapshot)
{
    for (unsigned long i = 0; i < snapshot->recovered_forced_count; i++)
        forget(&snapshot->recovered_forced[i]);
    free(snapshot->recovered_forced);
    snapshot->recovered_forced = NULL;
    snapshot->recovered_forced_count = snapshot->recovered_forced_capacity = 0;
}

/* ---- the checkpoint thread ------------------------------------------------------------------ */

void tic_snapshot_mark_forced_locked(struct tic_snapshot *snapshot, bool committed)
{
    struct tic_rows *rows = &snapshot->store->rows;
    unsigned long kept = 0;

    for (unsigned long i = 0; i < snapshot->forced_count; i++) {
        const struct tic_forced_result *result = &snapshot->forced[i];
        if (committed && tic_doneset_contains(&snapshot->graph->done, result->forced.sequence))
            continue;
        tic_rows_mark(rows, result->record);
        for (unsigned k = 0; k < result->forced.count; k++)
            tic_rows_mark(rows, result->rows[k]);
        snapshot->forced[kept++] = *result;
    }
    snapshot->forced_count = kept;
}
