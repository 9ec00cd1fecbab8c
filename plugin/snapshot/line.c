/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recovery line of a cut, and what rows it leaves free. Checkpoint thread only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/input.h"
#include "base/thread.h"
#include "history/history.h"
#include "snapshot/copier.h"
#include "snapshot/forced.h"
#include "store/blocks.h"
#include "store/compact.h"
#include "store/data_names.h"
#include "store/files.h"
#include "store/held.h"

/* main() waits for the graph lock no longer than a look at so many handles takes. */
enum { HANDLES_AT_ONCE = 256 };

/* ---- describing ----------------------------------------------------------------------------- */

/* What all runs of the store took, up to this line. */
static void describe_account(const struct tic_snapshot *snapshot, struct tic_account *account)
{
    const struct tic_account *earlier = &snapshot->recovery.earlier;
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);

    account->runs = earlier->runs + 1;
    account->period = (uint64_t)(snapshot->period * 1e9);
    account->cost = atomic_load_explicit(&snapshot->pace.cost_ns, memory_order_relaxed);
    account->latency = atomic_load_explicit(&snapshot->pace.latency_ns, memory_order_relaxed);
    account->spent = earlier->spent + (snapshot->started_ns ? now - snapshot->started_ns : 0);
    account->lost = earlier->lost;
    account->stored = earlier->stored + atomic_load_explicit(&snapshot->store->counts.bytes_written,
                                                             memory_order_relaxed);
    account->checkpoints =
        earlier->checkpoints + 1 +
        atomic_load_explicit(&snapshot->counts.checkpoints, memory_order_relaxed);
    account->logged =
        earlier->logged + atomic_load_explicit(&snapshot->log.records, memory_order_relaxed);
}

/* In time: the lines that follow are refused. */
static void tell_overwritten(const struct tic_snapshot *snapshot)
{
    const char *name = snapshot->options.any_program ? NULL : tic_files_tell_overwritten();

    if (name)
        tic_log(TIC_LOG_WARN,
                "main() writes the file %s that it has read: a restart may be refused; starpu-tic "
                "explain files",
                name);
}

static int copy_about(const struct tic_snapshot *snapshot, struct tic_line *line)
{
    const struct tic_line *about = &snapshot->about;
    struct timespec now;

    tell_overwritten(snapshot);
    clock_gettime(CLOCK_REALTIME, &now);
    line->created = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    line->workers = about->workers;
    line->clock = snapshot->cycle.position >> TIC_WAIT_BITS;
    line->waits = snapshot->cycle.position & ((1u << TIC_WAIT_BITS) - 1);
    line->verified = 1;
    line->log = snapshot->extension.cut;
    line->quiescent = atomic_load(&snapshot->verify.quiescent);
    line->unregistered_writes = atomic_load(&snapshot->unregistered.written);
    line->file.rerun_off = snapshot->options.rerun_off;
    describe_account(snapshot, &line->account);
    line->version = strdup(about->version);
    line->starpu = strdup(about->starpu);
    line->host = strdup(about->host);
    line->program = strdup(about->program);
    line->directory = strdup(about->directory);
    line->on.machine = strdup(tic_machine_name());
    line->on.pointer_bytes = sizeof(void *);
    line->build = strdup(about->build ? about->build : "");
    line->input = strdup(about->input && tic_input_was_read() ? about->input : "");
    line->arguments.text = malloc(about->arguments.size + 1);
    if (!line->version || !line->starpu || !line->host || !line->program || !line->directory ||
        !line->build || !line->on.machine || !line->input || !line->arguments.text ||
        tic_files_describe(&line->known.files) != 0 ||
        tic_data_names_describe(&line->known.names) != 0)
        return -ENOMEM;
    memcpy(line->arguments.text, about->arguments.text, about->arguments.size);
    line->arguments.size = about->arguments.size;
    return 0;
}

static int save_block(struct tic_snapshot *snapshot, uint32_t number, const void *items,
                      uint32_t count)
{
    struct tic_line_block block;
    struct tic_cycle *cycle = &snapshot->cycle;
    int status = tic_block_save(snapshot->store, number, items, count, &block);
    status = status ? status
                    : tic_append(cycle->blocks, cycle->block_count, cycle->block_capacity, &block);
    if (status)
        return status;
    struct tic_row row = {block.extent, block.row};
    tic_rows_pin(&snapshot->store->rows, row); /* all later lines refer to it */
    tic_rows_settle(&snapshot->store->rows, row);
    return 0;
}

/* Entries that fill blocks go there; the line keeps the rest. */
static int save_full_blocks(struct tic_snapshot *snapshot, uint32_t number, struct tic_line *line)
{
    const struct tic_table *table = tic_table_find(number);
    const uint32_t capacity = tic_table_capacity(table);
    char *items = *tic_table_array(table, line);
    size_t *count = tic_table_count(table, line), saved = 0;
    int status =
        *count < capacity ? 0 : tic_block_provide(snapshot->store, number, *count / capacity);

    while (status == 0 && *count - saved >= capacity) {
        status = save_block(snapshot, number, items + saved * table->item, capacity);
        saved += status == 0 ? capacity : 0;
    }
    if (saved > 0) {
        tic_graph_drop_tail(snapshot->graph, number, saved);
        memmove(items, items + saved * table->item, (*count - saved) * table->item);
        *count -= saved;
    }
    return status;
}

static int save_all_full_blocks(struct tic_snapshot *snapshot, struct tic_line *line)
{
    int status = 0;

    for (uint32_t number = 1; number < TIC_TABLES && status == 0; number++)
        if (number != TIC_TABLE_VALUES && !snapshot->cycle.of_point)
            status = save_full_blocks(snapshot, number, line);
    line->blocks = calloc(snapshot->cycle.block_count + 1, sizeof(*line->blocks));
    if (status || !line->blocks)
        return status ? status : -ENOMEM;
    if (snapshot->cycle.block_count > 0)
        memcpy(line->blocks, snapshot->cycle.blocks,
               snapshot->cycle.block_count * sizeof(*line->blocks));
    line->block_count = snapshot->cycle.block_count;
    return 0;
}

#ifdef TIC_DEBUG
/* The index holds what the graph says: no change of a value escaped it. Data that a restart
 * registers again after the cut is gone until the next line. */
static int check_index(struct tic_snapshot *snapshot, uint64_t cut)
{
    const struct tic_index *index = &snapshot->store->index;
    struct tic_line all = {0};
    int status = tic_graph_describe_values(snapshot->graph, cut, &all);
    bool same = status == 0 && all.value_count == index->values;

    for (size_t i = 0; i < all.value_count && same; i++) {
        const struct tic_line_value *value = &all.values[i];
        const struct tic_line_value *known = tic_index_find(index, value->id);
        struct tic_row row =
            tic_rows_real(&snapshot->store->rows, (struct tic_row){value->extent, value->row});
        same = known && known->version == value->version && known->extent == row.extent &&
               known->row == row.row && known->checksum == value->checksum &&
               known->gone >= value->gone;
    }
    if (status == 0 && !same)
        tic_snapshot_break(snapshot, "internal error: the index differs from the graph");
    tic_line_clear(&all);
    return same ? 0 : status ? status : -ECANCELED;
}

static int check_history(struct tic_snapshot *snapshot, const struct tic_line *line)
{
    const char *table = tic_history_find_difference(line, false);
    struct tic_history_wait wait;
    enum tic_history_trouble trouble = tic_history_find_cycle(line, &wait);

    if (table)
        tic_snapshot_break(snapshot, "internal error: %s differs from the history", table);
    else if (trouble != TIC_HISTORY_FINE)
        tic_snapshot_break(snapshot, "internal error: entry %zu of the history cannot pass",
                           wait.entry);
    return table || trouble != TIC_HISTORY_FINE ? -ECANCELED : 0;
}
#endif

/* A restart gives data what the event log says that tasks have written. Where that was replaced
 * later, another value may lie in its row by now (reuse.h), and a line must not name it: -ESTALE,
 * until main() has come to the task that replaced it. */
static int check_found(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut)
{
    tic_lock(&handle->saving.lock);
    const struct tic_value *value = tic_handle_value_at_locked(handle, cut);
    bool doubtful = value && value->doubtful;
    struct tic_saved saved = value ? value->saved : (struct tic_saved){0};
    tic_unlock(&handle->saving.lock);
    if (!doubtful)
        return 0;
    if (tic_store_verify(snapshot->store, &saved) != 0)
        return -ESTALE;
    tic_lock(&handle->saving.lock);
    if (handle->saving.current.doubtful &&
        handle->saving.current.saved.row.extent == saved.row.extent &&
        handle->saving.current.saved.row.row == saved.row.row)
        handle->saving.current.doubtful = false;
    tic_unlock(&handle->saving.lock);
    return 0;
}

static int check_all_found(struct tic_snapshot *snapshot, uint64_t cut)
{
    int status = 0;

    for (unsigned long i = 0; i < snapshot->cycle.due.count && status == 0; i++)
        status = check_found(snapshot, snapshot->cycle.due.items[i], cut);
    return status;
}

int tic_snapshot_describe(struct tic_snapshot *snapshot, uint64_t cut, struct tic_line *line)
{
    struct tic_index *index = &snapshot->store->index;
    int status = tic_held_write_all(snapshot->store);

    if (status == -ESRCH)
        tic_snapshot_break(snapshot, TIC_LOST_IMAGE);
    status = status ? status : copy_about(snapshot, line);
    status = status ? status : check_all_found(snapshot, cut);
    status = status ? status : tic_graph_index(snapshot->graph, cut, &snapshot->cycle.due, index);
    /* What was compared need not be listed: a comparison makes data dirty that main() changed, and
     * main() may save that before anybody can list it. */
    if (status == 0 && snapshot->verify.percent > 0)
        status = tic_graph_index(snapshot->graph, cut, &snapshot->verify.list, index);
#ifdef TIC_DEBUG
    status = status ? status : check_index(snapshot, cut);
#endif
    if (status == 0)
        status = snapshot->cycle.of_point
                     ? tic_point_describe_line(&snapshot->point, snapshot->graph, line)
                     : tic_graph_describe(snapshot->graph, cut, line);
#ifdef TIC_DEBUG
    status = status ? status : check_history(snapshot, line);
#endif
    status = status ? status : tic_held_resolve(&snapshot->store->rows, line);
    status = status ? status : save_all_full_blocks(snapshot, line);
    return status ? status : tic_index_write(index, snapshot->store, line);
}

/* ---- commit points --------------------------------------------------------------------------- */

/* Of blocks those stay that hold what lines of commit points repeat. */
static void forget_blocks(struct tic_snapshot *snapshot)
{
    uint64_t left[TIC_TABLES] = {
        [TIC_TABLE_INPUTS] = snapshot->point.first.inputs.first,
        [TIC_TABLE_EVENTS] = snapshot->point.first.events.first,
    };
    unsigned long kept = 0;

    for (unsigned long i = 0; i < snapshot->cycle.block_count; i++) {
        const struct tic_line_block block = snapshot->cycle.blocks[i];
        if (left[block.table] < block.count)
            continue;
        left[block.table] -= block.count;
        snapshot->cycle.blocks[kept++] = block;
    }
    snapshot->cycle.block_count = kept;
}

void tic_snapshot_forget_history(struct tic_snapshot *snapshot)
{
    atomic_store(&snapshot->point.forgotten, true);
    tic_point_forget(snapshot->graph);
    forget_blocks(snapshot);
}

int tic_snapshot_end_point(struct tic_snapshot *snapshot, int status)
{
    tic_lock(&snapshot->lock);
    bool stayed = tic_point_is_offered(&snapshot->point);
    atomic_store_explicit(&snapshot->point.state, TIC_POINT_IDLE, memory_order_relaxed);
    pthread_cond_broadcast(&snapshot->served);
    tic_unlock(&snapshot->lock);
    return status ? status : stayed ? 0 : -ESTALE;
}

/* Lines of before may be kept as long as others, with what they refer to. */
void tic_snapshot_note_point_line(struct tic_snapshot *snapshot)
{
    struct tic_rows *rows = &snapshot->store->rows;

    if (++snapshot->point.lines != snapshot->store->keep)
        return;
    tic_rows_unpin_all(rows);
    for (unsigned long i = 0; i < snapshot->cycle.block_count; i++)
        tic_rows_pin(rows, (struct tic_row){snapshot->cycle.blocks[i].extent,
                                            snapshot->cycle.blocks[i].row});
}

/* ---- free rows ------------------------------------------------------------------------------ */

/* What was saved after the cut; the rest is in the index. Handles are freed by this thread only,
 * and what new ones save is busy or was taken after the sweep began. */
static void mark_handles(struct tic_snapshot *snapshot)
{
    struct tic_graph *graph = snapshot->graph;
    unsigned long count = 1;

    for (unsigned long i = 0; i < count;) {
        tic_lock(&graph->lock);
        count = graph->handle_count;
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < count; n++) {
            struct tic_handle *handle = graph->handles[i++];
            tic_lock(&handle->saving.lock);
            if (handle->saving.current.exists)
                tic_rows_mark(&snapshot->store->rows, handle->saving.current.saved.row);
            tic_unlock(&handle->saving.lock);
        }
        tic_unlock(&graph->lock);
    }
}

/* Segments that are formatted between two sweeps. */
enum { FORMATTED_BETWEEN = 8 };

static void note_committed(struct tic_snapshot *snapshot, uint64_t cut)
{
    snapshot->cycle.committed = cut;
    atomic_store_explicit(&snapshot->results.reuse.committed, cut, memory_order_relaxed);
}

/* Looking at all handles pays when as many rows may become free as a part of them. */
void tic_snapshot_sweep(struct tic_snapshot *snapshot, uint64_t committed)
{
    struct tic_rows *rows = &snapshot->store->rows;

    if (committed > 0)
        note_committed(snapshot, committed);
    tic_lock(&snapshot->graph->lock);
    unsigned long handles = snapshot->graph->handle_count;
    tic_unlock(&snapshot->graph->lock);
    if (tic_rows_taken(rows) < handles / 16 && snapshot->store->formatted < FORMATTED_BETWEEN)
        return;
    snapshot->store->formatted = 0;
    tic_rows_sweep_begin(rows);
    tic_store_mark_kept(snapshot->store);
    mark_handles(snapshot);
    if (snapshot->copier)
        tic_copier_mark(snapshot->copier, rows);
    tic_lock(&snapshot->graph->lock);
    tic_snapshot_mark_forced_locked(snapshot, committed > 0);
    tic_unlock(&snapshot->graph->lock);
    tic_rows_sweep_end(rows);
    /* What extends the newest line may lie in any of its files, and what main() was told since. */
    if (committed > 0 || (!atomic_load(&snapshot->extension.on) && !snapshot->ranks))
        tic_eventlog_sweep(&snapshot->log);
    if (committed > 0 && tic_compact_review(snapshot->store) != 0)
        tic_log(TIC_LOG_DETAIL, "no memory to look for segments that nothing needs");
}
