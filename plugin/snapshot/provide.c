/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows that values are written to: asked for by workers and the owner thread, and formatted before
 * a cut by what is dirty. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "snapshot/provide.h"

/* ---- on request ------------------------------------------------------------------------------ */

enum { SEGMENT_BYTES = 64 << 20, MOST_ROWS = 4096 };

/* SEL needs a row for every task that ends: a segment is for many. */
static uint64_t rows_at_once(const struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    uint64_t rows = SEGMENT_BYTES / (tic_shape_bytes(shape) + 1) + 1;

    return !snapshot->options.log_all ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
}

/* Not on the checkpoint thread. 0 when rows may be free now; -ECANCELED when it ends; -ETIME when
 * it does not answer. */
static int request_rows(struct tic_snapshot *snapshot, const struct tic_shape *shape)
{
    struct timespec until = tic_after(snapshot->options.patience);
    struct tic_row_request *request = calloc(1, sizeof(*request));
    int status = !request ? -ENOMEM : 0;

    tic_lock(&snapshot->lock);
    if (snapshot->control.exited || tic_snapshot_is_broken(snapshot))
        status = -ECANCELED;
    else if (snapshot->control.silent)
        status = -ETIME;
    if (status) {
        tic_unlock(&snapshot->lock);
        free(request);
        return status;
    }
    request->demand = (struct tic_demand){*shape, rows_at_once(snapshot, shape)};
    request->next = snapshot->control.requests;
    snapshot->control.requests = request;
    atomic_store(&snapshot->store->hurry, true);
    pthread_cond_signal(&snapshot->wake);
    while (!request->done && tic_snapshot_await_locked(snapshot, &until))
        ;
    request->left = !request->done;
    snapshot->control.silent |= request->left;
    status = request->left ? -ETIME : request->status;
    if (!request->left)
        free(request);
    tic_unlock(&snapshot->lock);
    return status;
}

int tic_snapshot_want_row(struct tic_snapshot *snapshot, const struct tic_handle *handle)
{
    return request_rows(snapshot, &handle->layout.shape);
}

int tic_snapshot_want_log(struct tic_snapshot *snapshot)
{
    struct timespec until = tic_after(snapshot->options.patience);

    tic_lock(&snapshot->lock);
    snapshot->control.log_wanted = true;
    atomic_store(&snapshot->store->hurry, true);
    pthread_cond_signal(&snapshot->wake);
    while (snapshot->control.log_wanted && !snapshot->control.exited && !snapshot->control.silent &&
           tic_snapshot_await_locked(snapshot, &until))
        ;
    snapshot->control.silent |= snapshot->control.log_wanted && !snapshot->control.exited;
    int status = snapshot->control.exited       ? -ECANCELED
                 : snapshot->control.log_wanted ? -ETIME
                                                : snapshot->control.log_status;
    tic_unlock(&snapshot->lock);
    return status;
}

bool tic_snapshot_force_log(struct tic_snapshot *snapshot)
{
    bool forced = false;
    int status;

    tic_lock(&snapshot->lock);
    snapshot->control.log_forced = true;
    tic_unlock(&snapshot->lock);
    do { /* another one may have been waited for */
        status = tic_snapshot_want_log(snapshot);
        tic_lock(&snapshot->lock);
        forced = !snapshot->control.log_forced;
        tic_unlock(&snapshot->lock);
    } while (status == 0 && !forced);
    return forced;
}

static void serve_log(struct tic_snapshot *snapshot)
{
    tic_lock(&snapshot->lock);
    bool wanted = snapshot->control.log_wanted, forced = snapshot->control.log_forced;
    tic_unlock(&snapshot->lock);
    if (!wanted)
        return;
    int status = tic_eventlog_provide(&snapshot->log);
    if (status == 0 && forced)
        status = tic_store_sync_names(snapshot->store);
    if (status == 0 && forced)
        status = tic_eventlog_sync(&snapshot->log);
    tic_lock(&snapshot->lock);
    snapshot->control.log_wanted = false;
    snapshot->control.log_forced &= !forced || status != 0;
    snapshot->control.log_status = status;
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
}

void tic_snapshot_serve_requests(struct tic_snapshot *snapshot)
{
    serve_log(snapshot);
    tic_lock(&snapshot->lock);
    while (snapshot->control.requests) {
        struct tic_row_request *request = snapshot->control.requests;
        snapshot->control.requests = request->next;
        bool exited = snapshot->control.exited;
        tic_unlock(&snapshot->lock);
        int status = exited || tic_snapshot_is_broken(snapshot) ? -ECANCELED
                     : tic_rows_available(&snapshot->store->rows, &request->demand.shape) > 0
                         ? 0 /* another request came first */
                         : tic_store_provide(snapshot->store, &request->demand, 1);
        tic_lock(&snapshot->lock);
        request->status = status;
        request->done = true;
        if (request->left)
            free(request);
        pthread_cond_broadcast(&snapshot->served);
    }
    snapshot->control.silent = false;
    atomic_store(&snapshot->store->hurry,
                 snapshot->control.stopping || snapshot->control.log_wanted);
    tic_unlock(&snapshot->lock);
}

/* ---- before the cut ------------------------------------------------------------------------- */

/* main() waits for the graph lock no longer than a look at so many handles takes. */
enum { HANDLES_AT_ONCE = 1024 };
/* Rows that are formatted beyond what is dirty, so that not every checkpoint must look at all
 * handles: until they are written they take no space on the disk. */
#define MOST_SPARE_BYTES (UINT64_C(1) << 26)

int tic_demands_add(struct tic_demands *demands, const struct tic_shape *shape)
{
    for (unsigned long i = demands->count; i-- > 0;) {
        if (tic_shape_same(&demands->items[i].shape, shape)) {
            demands->items[i].rows++;
            return 0;
        }
    }
    return tic_append(demands->items, demands->count, demands->capacity,
                      &(struct tic_demand){*shape, 1});
}

/* Handles that are listed, so no less than are dirty. */
static uint64_t count_listed(struct tic_snapshot *snapshot)
{
    uint64_t dirtied = 0;

    for (unsigned i = 0; i < snapshot->cut.slot_count; i++)
        dirtied +=
            atomic_load_explicit(&tic_cut_slot(&snapshot->cut, i)->dirtied, memory_order_relaxed);
    tic_lock(&snapshot->graph->lock);
    uint64_t others = snapshot->graph->changed.count;
    tic_unlock(&snapshot->graph->lock);
    return dirtied - snapshot->cycle.dirtied_before + others + snapshot->cycle.due.count;
}

/* Some more become dirty by the time of the cut. */
static uint64_t with_reserve(uint64_t rows)
{
    return rows + rows / 8 + 2;
}

/* True when there are rows even if all that is dirty has one and the same shape; then there is no
 * need to look at all handles. Shapes that were never saved count when something is registered. */
static bool has_rows(struct tic_snapshot *snapshot)
{
    uint64_t registered = atomic_load(&snapshot->graph->registered);
    uint64_t wanted = with_reserve(count_listed(snapshot));
    bool enough = registered == snapshot->cycle.scanned;

    snapshot->cycle.scanned = registered;
    for (unsigned long i = 0; i < snapshot->cycle.shapes.count && enough; i++)
        enough = tic_rows_available(&snapshot->store->rows,
                                    &snapshot->cycle.shapes.items[i].shape) >= wanted;
    return enough;
}

/* How many handles of each shape are dirty, and how many there are. */
static int count_dirty(struct tic_snapshot *snapshot, unsigned long *handles)
{
    struct tic_graph *graph = snapshot->graph;
    unsigned long count = 1;
    int status = 0;

    for (unsigned long i = 0; i < snapshot->cycle.shapes.count; i++)
        snapshot->cycle.shapes.items[i].rows = 0;
    for (unsigned long i = 0; i < count && status == 0;) {
        tic_lock(&graph->lock);
        count = graph->handle_count;
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < count && status == 0; n++, i++)
            if (atomic_load_explicit(&graph->handles[i]->saving.dirty_since,
                                     memory_order_acquire) != 0)
                status = tic_demands_add(&snapshot->cycle.shapes, &graph->handles[i]->layout.shape);
        tic_unlock(&graph->lock);
    }
    *handles = count;
    return status;
}

static void add_spare(struct tic_demand *demand, uint64_t handles)
{
    uint64_t bytes = tic_shape_bytes(&demand->shape);
    uint64_t most = bytes > 0 ? MOST_SPARE_BYTES / bytes : 0;

    if (demand->rows > 0)
        demand->rows = with_reserve(demand->rows) + (handles / 8 < most ? handles / 8 : most);
}

/* Shapes that nothing dirty has, and no segment any more: they count again when a row is missed. */
static void forget_shapes(struct tic_snapshot *snapshot)
{
    struct tic_demands *shapes = &snapshot->cycle.shapes;
    unsigned long kept = 0;

    for (unsigned long i = 0; i < shapes->count; i++)
        if (shapes->items[i].rows > 0 ||
            tic_rows_total(&snapshot->store->rows, &shapes->items[i].shape) > 0)
            shapes->items[kept++] = shapes->items[i];
    shapes->count = kept;
}

int tic_provide_dirty(struct tic_snapshot *snapshot)
{
    struct tic_demands *shapes = &snapshot->cycle.shapes;
    unsigned long handles;
    int status = count_dirty(snapshot, &handles);

    forget_shapes(snapshot);
    for (unsigned long i = 0; i < shapes->count; i++)
        add_spare(&shapes->items[i], handles);
    return status ? status : tic_store_provide(snapshot->store, shapes->items, shapes->count);
}

/* The more are those that will be dirty by the time of the cut: hardly any save in it has to wait
 * for rows. */
int tic_provide_rows(struct tic_snapshot *snapshot)
{
    int status = has_rows(snapshot) ? 0 : tic_provide_dirty(snapshot);

    if (status == 0 && (snapshot->options.forced_percent > 0 || snapshot->options.log_all))
        status = tic_eventlog_provide(&snapshot->log);
    tic_eventlog_settle(&snapshot->log);
    return status;
}
