/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One local checkpoint, from the cut to the committed recovery line. Checkpoint thread only. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "snapshot/forced.h"

/* Seconds between looks at the running tasks of the cut, should a wake-up be lost in a race. */
#define CUT_POLL 0.01

static void set_phase(struct tic_snapshot *snapshot, enum tic_phase phase)
{
    static const enum tic_phase next[] = {
        [TIC_PHASE_IDLE] = TIC_PHASE_PROVIDING,
        [TIC_PHASE_PROVIDING] = TIC_PHASE_SAVING,
        [TIC_PHASE_SAVING] = TIC_PHASE_COMMITTING,
        [TIC_PHASE_COMMITTING] = TIC_PHASE_IDLE,
    };
    if (phase != TIC_PHASE_IDLE && phase != next[snapshot->phase])
        tic_snapshot_break(snapshot, "internal error: checkpoint phase %d after %d", (int)phase,
                           (int)snapshot->phase);
    snapshot->phase = phase;
}

/* ---- rows before the cut -------------------------------------------------------------------- */

struct demands {
    struct tic_demand *items;
    unsigned long count, capacity;
};

static int add_demand(struct demands *demands, const struct tic_shape *shape)
{
    for (unsigned long i = demands->count; i-- > 0;) {
        if (tic_shape_equal(&demands->items[i].shape, shape)) {
            demands->items[i].rows++;
            return 0;
        }
    }
    void *grown =
        tic_grow(demands->items, &demands->capacity, demands->count + 1, sizeof(*demands->items));
    if (!grown)
        return -ENOMEM;
    demands->items = grown;
    demands->items[demands->count++] = (struct tic_demand){*shape, 1};
    return 0;
}

static const struct tic_shape block_shape = {sizeof(uint32_t), 1, {TIC_SIGNATURE_BLOCK, 1, 1, 1}};

static uint64_t new_blocks(const struct tic_snapshot *snapshot)
{
    return tic_signature_count(&snapshot->graph->signature) / TIC_SIGNATURE_BLOCK -
           snapshot->block_count;
}

/* Formats rows for what is dirty now, and for some more that will be by the time of the cut, so
 * that hardly any save in the cut has to wait for rows. */
static int provide_rows(struct tic_snapshot *snapshot)
{
    struct tic_graph *graph = snapshot->graph;
    struct demands demands = {0};
    int status = 0;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && status == 0; i++)
        if (atomic_load_explicit(&graph->handles[i]->dirty_since, memory_order_acquire) != 0)
            status = add_demand(&demands, &graph->handles[i]->layout.shape);
    tic_unlock(&graph->lock);
    for (unsigned long i = 0; i < demands.count; i++)
        demands.items[i].rows += demands.items[i].rows / 8 + 2;
    for (uint64_t i = new_blocks(snapshot); i > 0 && status == 0; i--)
        status = add_demand(&demands, &block_shape);
    if (status == 0)
        status = tic_store_provide(snapshot->store, demands.items, demands.count);
    if (status == 0 && snapshot->forced_percent > 0)
        status = tic_forced_provide(snapshot->store);
    free(demands.items);
    return status;
}

/* ---- the cut -------------------------------------------------------------------------------- */

static int append_handles(struct tic_handle_list *list, struct tic_handle_list *more)
{
    void *grown =
        tic_grow(list->items, &list->capacity, list->count + more->count, sizeof(*list->items));
    if (!grown && list->count + more->count > 0)
        return -ENOMEM;
    list->items = grown;
    if (more->count > 0)
        memcpy(list->items + list->count, more->items, more->count * sizeof(*list->items));
    list->count += more->count;
    more->count = 0;
    return 0;
}

/* Raises the epoch and gathers what became dirty up to it. */
static int take_cut(struct tic_snapshot *snapshot, uint64_t *taken)
{
    uint64_t count = tic_snapshot_count(snapshot);
    tic_lock(&snapshot->graph->lock);
    *taken = tic_cut_raise(&snapshot->cut);
    int status = append_handles(&snapshot->due, &snapshot->touched);
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_note_counted(snapshot, count);
    tic_failpoint(TIC_FAIL_CHECKPOINT_CUT);
    while (!tic_cut_has_entered(&snapshot->cut, *taken)) {
        /* A few instructions of a worker, unless it copies for the cut before and waits for rows.
         */
        tic_snapshot_serve_requests(snapshot);
        sched_yield();
    }
    for (unsigned i = 0; i < snapshot->cut.slot_count && status == 0; i++)
        status = append_handles(&snapshot->due, &snapshot->cut.slots[i].dirty[*taken & 1]);
    return status;
}

static bool is_gone(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    tic_lock(&snapshot->graph->lock);
    bool gone = handle->gone_since != 0 && handle->gone_since <= cut;
    tic_unlock(&snapshot->graph->lock);
    return gone;
}

/* 0 saved or not needed; -EBUSY a task of the cut writes it; else -errno. */
static int try_save(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    int status = 0;

    /* What is gone before the cut has left its value to a parent, or is pinned and saved. */
    if (!tic_handle_is_due(handle, cut) || is_gone(snapshot, handle, cut))
        return 0;
    tic_lock(&handle->lock);
    if (!tic_handle_is_due(handle, cut))
        status = 0;
    else if (atomic_load_explicit(&handle->writers, memory_order_acquire) > 0)
        status = -EBUSY;
    else
        status = tic_snapshot_save_locked(snapshot, handle);
    tic_unlock(&handle->lock);
    if (status != -EAGAIN)
        return status;
    struct tic_demand demand = {handle->layout.shape, 1};
    status = tic_store_provide(snapshot->store, &demand, 1);
    return status ? status : try_save(snapshot, handle, cut);
}

/* One pass over the handles from `*from` on; those that a task of the cut still writes are moved
 * to the front for the next pass. */
static int save_pass(struct tic_snapshot *snapshot, uint64_t cut, unsigned long *left)
{
    struct tic_handle_list *due = &snapshot->due;
    unsigned long busy = 0;
    int status = 0;

    for (unsigned long i = 0; i < *left && status == 0; i++) {
        status = try_save(snapshot, due->items[i], cut);
        if (status == -EBUSY) {
            struct tic_handle *handle = due->items[i];
            due->items[i] = due->items[busy];
            due->items[busy++] = handle;
            status = 0;
        }
        tic_snapshot_serve_requests(snapshot); /* a worker must not wait for many values */
    }
    *left = busy;
    return status;
}

static int save_all(struct tic_snapshot *snapshot, uint64_t cut)
{
    unsigned long left = snapshot->due.count;
    bool ended = false;
    int status = 0;

    while (status == 0 && (left > 0 || !ended)) {
        ended = tic_cut_has_ended(&snapshot->cut, cut);
        status = save_pass(snapshot, cut, &left);
        if (status == 0 && (left > 0 || !ended) && tic_snapshot_pause(snapshot, CUT_POLL))
            status = -ECANCELED;
        if (tic_snapshot_is_broken(snapshot))
            status = -ECANCELED;
    }
    return status;
}

/* Handles that became dirty again meanwhile stay listed, for the next cut, unless they are gone. */
static void unlist(struct tic_snapshot *snapshot, uint64_t cut)
{
    struct tic_handle_list *due = &snapshot->due;
    unsigned long carried = 0;

    for (unsigned long i = 0; i < due->count; i++) {
        struct tic_handle *handle = due->items[i];
        atomic_exchange_explicit(&handle->listed, false, memory_order_acq_rel);
        if (atomic_load_explicit(&handle->dirty_since, memory_order_acquire) != 0 &&
            !is_gone(snapshot, handle, cut) &&
            !atomic_exchange_explicit(&handle->listed, true, memory_order_acq_rel))
            due->items[carried++] = handle;
    }
    due->count = carried;
}

static int note_done(struct tic_graph *graph, uint64_t sequence)
{
    return sequence & TIC_SPAWN_KEY
               ? tic_spawns_note_done(&graph->spawns, (uint32_t)(sequence & ~TIC_SPAWN_KEY))
               : tic_doneset_add(&graph->done, sequence);
}

static int merge_done(struct tic_snapshot *snapshot, uint64_t cut)
{
    int status = 0;
    for (unsigned i = 0; i < snapshot->cut.slot_count; i++) {
        struct tic_sequence_list *list = &snapshot->cut.slots[i].ended[cut & 1];
        for (unsigned long k = 0; k < list->count; k++) {
            int added = note_done(snapshot->graph, list->items[k]);
            status = added ? added : status;
        }
        list->count = 0;
    }
    return status;
}

/* ---- the line ------------------------------------------------------------------------------- */

/* Writes signature blocks that became full. */
static int save_blocks(struct tic_snapshot *snapshot)
{
    for (uint64_t more = new_blocks(snapshot); more > 0; more--) {
        uint64_t first = snapshot->block_count * TIC_SIGNATURE_BLOCK;
        const struct tic_signature *signature = &snapshot->graph->signature;
        struct tic_layout layout = {
            .shape = block_shape,
            .base = (char *)atomic_load(&signature->blocks[first / TIC_SIGNATURE_BLOCK]),
            .stride = {1},
        };
        struct tic_saved saved;
        struct tic_demand demand = {block_shape, 1};
        void *grown = tic_grow(snapshot->blocks, &snapshot->block_capacity,
                               snapshot->block_count + 1, sizeof(*snapshot->blocks));
        if (!grown)
            return -ENOMEM;
        snapshot->blocks = grown;
        int status = tic_store_provide(snapshot->store, &demand, 1);
        status = status ? status : tic_store_save(snapshot->store, &layout, &saved);
        if (status)
            return status;
        snapshot->blocks[snapshot->block_count++] =
            (struct tic_line_block){saved.row.extent, saved.row.row, saved.checksum};
        tic_rows_settle(&snapshot->store->rows, saved.row);
    }
    return 0;
}

static int copy_about(const struct tic_snapshot *snapshot, struct tic_line *line)
{
    const struct tic_line *about = &snapshot->about;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    line->created = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    line->workers = about->workers;
    line->version = strdup(about->version);
    line->starpu = strdup(about->starpu);
    line->host = strdup(about->host);
    line->program = strdup(about->program);
    line->directory = strdup(about->directory);
    line->arguments = malloc(about->arguments_size + 1);
    if (!line->version || !line->starpu || !line->host || !line->program || !line->directory ||
        !line->arguments)
        return -ENOMEM;
    memcpy(line->arguments, about->arguments, about->arguments_size);
    line->arguments_size = about->arguments_size;
    return 0;
}

/* The signatures must be read after save_blocks: what is full is in blocks, the rest inline. */
static int describe(struct tic_snapshot *snapshot, uint64_t cut, struct tic_line *line)
{
    int status = copy_about(snapshot, line);
    status = status ? status : tic_graph_describe(snapshot->graph, cut, line);
    if (status)
        return status;
    uint64_t blocks = line->tasks_submitted / TIC_SIGNATURE_BLOCK;
    status = save_blocks(snapshot); /* any block that line->signatures does not cover is full now */
    line->blocks = calloc(blocks + 1, sizeof(*line->blocks));
    if (status || !line->blocks)
        return status ? status : -ENOMEM;
    if (blocks > 0)
        memcpy(line->blocks, snapshot->blocks, blocks * sizeof(*line->blocks));
    line->block_count = blocks;
    return 0;
}

static void mark_value(struct tic_snapshot *snapshot, const struct tic_value *value)
{
    if (value->exists)
        tic_rows_mark(&snapshot->store->rows, value->saved.row);
}

/* Frees rows that nothing refers to any more. */
static void sweep(struct tic_snapshot *snapshot)
{
    struct tic_graph *graph = snapshot->graph;
    struct tic_rows *rows = &snapshot->store->rows;

    tic_rows_sweep_begin(rows);
    tic_store_mark_kept(snapshot->store);
    for (unsigned long i = 0; i < snapshot->block_count; i++)
        tic_rows_mark(rows, (struct tic_row){snapshot->blocks[i].extent, snapshot->blocks[i].row});
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count; i++) {
        struct tic_handle *handle = graph->handles[i];
        tic_lock(&handle->lock);
        handle->previous.exists = false;
        mark_value(snapshot, &handle->current);
        tic_unlock(&handle->lock);
    }
    for (unsigned long i = 0; i < graph->acquire_count; i++)
        if (graph->acquires[i].recorded)
            tic_rows_mark(rows,
                          (struct tic_row){graph->acquires[i].extent, graph->acquires[i].row});
    for (unsigned long i = 0; i < graph->read_count; i++)
        tic_rows_mark(rows,
                      (struct tic_row){graph->reads[i].read.extent, graph->reads[i].read.row});
    tic_snapshot_mark_forced_locked(snapshot);
    tic_unlock(&graph->lock);
    tic_rows_sweep_end(rows);
}

static bool has_news(struct tic_snapshot *snapshot)
{
    uint64_t executed = 0;
    for (unsigned i = 0; i < snapshot->cut.slot_count; i++)
        executed += atomic_load_explicit(&snapshot->cut.slots[i].executed, memory_order_relaxed);
    tic_lock(&snapshot->graph->lock);
    bool news = executed != snapshot->executed_before || snapshot->touched.count > 0;
    tic_unlock(&snapshot->graph->lock);
    snapshot->executed_before = executed;
    return news;
}

static int by_row(const void *a, const void *b)
{
    const struct tic_row *x = a, *y = b;
    if (x->extent != y->extent)
        return x->extent < y->extent ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The rows of what main() and tasks read; *count of them. NULL when out of memory. */
static struct tic_row *logged_rows(struct tic_graph *graph, size_t *count)
{
    tic_lock(&graph->lock);
    struct tic_row *rows = calloc(graph->acquire_count + graph->read_count + 1, sizeof(*rows));
    *count = 0;
    for (unsigned long i = 0; rows && i < graph->acquire_count; i++)
        if (graph->acquires[i].recorded)
            rows[(*count)++] = (struct tic_row){graph->acquires[i].extent, graph->acquires[i].row};
    for (unsigned long i = 0; rows && i < graph->read_count; i++)
        rows[(*count)++] = (struct tic_row){graph->reads[i].read.extent, graph->reads[i].read.row};
    tic_unlock(&graph->lock);
    return rows;
}

/* Would the next line hold more logged values than it may? */
static bool is_over_bound(struct tic_snapshot *snapshot)
{
    size_t count;
    uint64_t bytes = 0;
    struct tic_row *rows = snapshot->log_bound ? logged_rows(snapshot->graph, &count) : NULL;

    if (!rows)
        return false;
    qsort(rows, count, sizeof(*rows), by_row);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_row(&rows[i], &rows[i - 1]) != 0)
            bytes += tic_rows_bytes(&snapshot->store->rows, rows[i]);
    free(rows);
    bool over = bytes > snapshot->log_bound;
    if (over && !snapshot->over_bound)
        tic_log(TIC_LOG_WARN,
                "what main() and tasks without written data have read makes %llu bytes, more than "
                "STARPU_TIC_LOG=%llu: no more checkpoints are taken, and a restart continues from "
                "the last one",
                (unsigned long long)bytes, (unsigned long long)snapshot->log_bound);
    snapshot->over_bound = over;
    return over;
}

static int commit(struct tic_snapshot *snapshot, uint64_t cut)
{
    struct tic_line line = {0};
    int status = describe(snapshot, cut, &line);

    /* A copy on write that failed broke protection: then the cut has lost a value. */
    if (tic_snapshot_is_broken(snapshot))
        status = -ECANCELED;
    tic_cut_finish(&snapshot->cut);
    status = status ? status : tic_store_commit(snapshot->store, &line);
    tic_line_clear(&line);
    if (status)
        return status;
    sweep(snapshot);
    tic_graph_reclaim(snapshot->graph, cut);
    atomic_fetch_add_explicit(&snapshot->checkpoints, 1, memory_order_relaxed);
    tic_log(TIC_LOG_DETAIL, "checkpoint %llu: %llu tasks done",
            (unsigned long long)snapshot->store->kept[0].number,
            (unsigned long long)snapshot->store->kept[0].tasks_done);
    return 0;
}

int tic_checkpoint_run(struct tic_snapshot *snapshot)
{
    uint64_t cut;

    if (snapshot->dry || !has_news(snapshot) || is_over_bound(snapshot))
        return 1;
    tic_failpoint(TIC_FAIL_CHECKPOINT_BEGIN);
    set_phase(snapshot, TIC_PHASE_PROVIDING);
    int status = provide_rows(snapshot);
    if (status == 0) {
        set_phase(snapshot, TIC_PHASE_SAVING);
        status = take_cut(snapshot, &cut);
        status = status ? status : save_all(snapshot, cut);
        status = status ? status : merge_done(snapshot, cut);
    }
    if (status == 0) {
        tic_failpoint(TIC_FAIL_CHECKPOINT_SAVED);
        set_phase(snapshot, TIC_PHASE_COMMITTING);
        unlist(snapshot, cut);
        status = commit(snapshot, cut);
    }
    set_phase(snapshot, TIC_PHASE_IDLE);
    return status;
}
