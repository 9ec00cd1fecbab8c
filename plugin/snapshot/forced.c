/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks: saved when a task ends. */
#include "snapshot/forced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "snapshot/suspend.h"

/* Other workers may take the rows that this one has asked for. */
enum { FORCED_TRIES = 3, LOG_TRIES = 1000 };

/* ---- the log -------------------------------------------------------------------------------- */

unsigned tic_snapshot_owner_writer(const struct tic_snapshot *snapshot)
{
    return snapshot->log.writer_count - 1;
}

int tic_snapshot_append(struct tic_snapshot *snapshot, unsigned writer, enum tic_logged kind,
                        const uint64_t *words, size_t count, uint64_t *file)
{
    if (atomic_load_explicit(&snapshot->suspended, memory_order_relaxed))
        return -ECANCELED; /* what comes of events after the gap is executed again in a restart */
    int status = tic_eventlog_append(&snapshot->log, writer, kind, words, count, file);

    for (int tries = 0; status == -EAGAIN && tries < LOG_TRIES; tries++) {
        status = tic_snapshot_want_log(snapshot);
        status =
            status ? status : tic_eventlog_append(&snapshot->log, writer, kind, words, count, file);
    }
    if (status && status != -ECANCELED)
        tic_snapshot_suspend(snapshot, status);
    return status;
}

void tic_snapshot_need_lines(struct tic_snapshot *snapshot, const char *task, const char *why)
{
    atomic_fetch_add_explicit(&snapshot->uncovered, 1, memory_order_relaxed);
    if (atomic_load_explicit(&snapshot->needs_lines, memory_order_relaxed) ||
        atomic_exchange(&snapshot->needs_lines, true))
        return;
    tic_log(TIC_LOG_INFO,
            "the event log does not hold the results of all tasks (%s: %s): recovery lines are "
            "taken every %g seconds, too",
            task, why, snapshot->period);
    tic_lock(&snapshot->lock);
    pthread_cond_signal(&snapshot->wake);
    tic_unlock(&snapshot->lock);
}

/* ---- events --------------------------------------------------------------------------------- */

void tic_snapshot_events(struct tic_snapshot *snapshot, uint64_t *count, uint64_t *hash)
{
    struct tic_graph *graph = snapshot->graph;

    tic_lock(&graph->lock);
    *count = tic_tail_total(&graph->events);
    *hash = graph->event_chain;
    tic_unlock(&graph->lock);
}

/* ---- a worker ------------------------------------------------------------------------------- */

/* May this worker spend more time on forced checkpoints? */
static bool is_in_budget(struct tic_snapshot *snapshot, const struct tic_slot *slot, uint64_t now)
{
    if (snapshot->log_all ||
        slot->forced_ns * 100 <= (now - snapshot->started_ns) * snapshot->forced_percent)
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
    if (status == 0 && atomic_load_explicit(&handle->writers, memory_order_acquire) != 1)
        status = -EBUSY;
    struct tic_saved saved = handle->current.saved;
    tic_unlock(&handle->lock);
    *row = saved.row;
    output->id = handle->id;
    return status ? status : tic_forced_describe(snapshot->store, &saved, output);
}

static int keep(struct tic_snapshot *snapshot, const struct tic_forced_kept *result)
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

/* Between the save and the time when the result is known to be kept, a sweep may come: the rows are
 * current values of their handles, which nobody else writes before this task ends. */
static int force(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                 struct tic_forced *forced)
{
    const struct tic_handle_list *writing = &slot->writing;
    struct tic_forced_kept result = {.sequence = forced->sequence,
                                     .count = (uint32_t)writing->count};
    uint64_t words[TIC_FORCED_WORDS];
    int status = 0;

    forced->count = writing->count;
    for (unsigned long i = 0; i < writing->count && status == 0; i++)
        status = save_output(snapshot, writing->items[i], &forced->outputs[i], &result.rows[i]);
    if (status)
        return status;
    unsigned writer = (unsigned)(slot - snapshot->cut.slots);
    status = tic_snapshot_append(snapshot, writer, TIC_LOGGED_FINISHED, words,
                                 tic_forced_encode(forced, words), &result.file);
    if (status)
        return status == -EAGAIN ? -ECANCELED : status;
    tic_failpoint(TIC_FAIL_FORCED_WRITTEN);
    return keep(snapshot, &result);
}

bool tic_snapshot_force(struct tic_snapshot *snapshot, struct tic_slot *slot,
                        struct tic_forced *forced)
{
    uint64_t start = tic_snapshot_nanoseconds(CLOCK_MONOTONIC);
    int most = snapshot->log_all ? LOG_TRIES : FORCED_TRIES;

    if (slot->writing.count == 0 || slot->writing.count > TIC_FORCED_OUTPUTS ||
        tic_snapshot_is_broken(snapshot) || atomic_load(&snapshot->suspended) ||
        !is_in_budget(snapshot, slot, start))
        return false;
    int status = force(snapshot, slot, forced);
    for (int tries = 0; status == -EAGAIN && tries < most && !tic_snapshot_is_broken(snapshot);
         tries++) {
        status = 0;
        for (unsigned long i = 0; i < slot->writing.count && status == 0; i++)
            status = tic_snapshot_want_row(snapshot, slot->writing.items[i]);
        status = status ? status : force(snapshot, slot, forced);
    }
    slot->forced_ns += tic_snapshot_nanoseconds(CLOCK_MONOTONIC) - start;
    if (status == 0)
        atomic_fetch_add_explicit(&snapshot->forced_saved, 1, memory_order_relaxed);
    else if (status != -EAGAIN && status != -EBUSY && status != -ECANCELED)
        tic_snapshot_suspend(snapshot, status); /* a restart executes the task again */
    return status == 0;
}

/* ---- recovery ------------------------------------------------------------------------------- */

/* An event that main() came to. */
struct seen {
    uint64_t number, hash; /* of all up to and with it */
    struct tic_line_event event;
};

struct search {
    struct tic_snapshot *snapshot;
    const struct tic_line *line;
    struct tic_forced_output *outputs; /* of the results, as their `first` tells */
    unsigned long output_count, output_capacity;
    struct seen *events; /* that the line has not */
    unsigned long event_count, event_capacity;
    struct tic_line_input *inputs;
    unsigned long input_count, input_capacity;
    uint64_t order, file;
    struct {
        uint64_t task, time;
        bool runs;
    } workers[TIC_MAX_WORKERS]; /* what each was doing when the log ends */
    uint64_t last;              /* time of the last record */
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

static int note_result(struct search *search, const struct tic_forced *forced, uint64_t file)
{
    struct tic_snapshot *snapshot = search->snapshot;
    struct tic_forced_found found = {.sequence = forced->sequence,
                                     .signature = forced->signature,
                                     .arguments = forced->arguments,
                                     .order = search->order,
                                     .file = file,
                                     .events = forced->events,
                                     .seen = forced->seen,
                                     .count = (uint32_t)forced->count,
                                     .first = (uint32_t)search->output_count};
    void *outputs = tic_grow(search->outputs, &search->output_capacity,
                             search->output_count + forced->count, sizeof(*search->outputs));
    search->outputs = outputs ? outputs : search->outputs;
    void *grown = tic_grow(snapshot->found, &snapshot->found_capacity, snapshot->found_count + 1,
                           sizeof(*snapshot->found));
    snapshot->found = grown ? grown : snapshot->found;
    if (!outputs || !grown || search->output_count + forced->count > UINT32_MAX)
        return -ENOMEM;
    memcpy(search->outputs + search->output_count, forced->outputs,
           forced->count * sizeof(*search->outputs));
    search->output_count += forced->count;
    snapshot->found[snapshot->found_count++] = found;
    for (uint64_t i = 0; i < forced->count; i++) {
        int status = tic_store_keep_segment(snapshot->store, forced->outputs[i].segment);
        if (status)
            return status;
    }
    return 0;
}

static int note_event(struct search *search, const struct tic_log_record *record)
{
    const uint64_t *words = record->words; /* number, kind, value, hash */

    if (record->count != 4 || words[0] < search->line->event_count)
        return 0;
    void *grown = tic_grow(search->events, &search->event_capacity, search->event_count + 1,
                           sizeof(*search->events));
    if (!grown)
        return -ENOMEM;
    search->events = grown;
    search->events[search->event_count++] =
        (struct seen){words[0], words[3], {(uint32_t)words[1], (int64_t)words[2]}};
    return 0;
}

static int note_input(struct search *search, const struct tic_log_record *record)
{
    void *grown = tic_grow(search->inputs, &search->input_capacity, search->input_count + 1,
                           sizeof(*search->inputs));
    if (!grown || record->count != 2)
        return grown ? 0 : -ENOMEM;
    search->inputs = grown;
    search->inputs[search->input_count++] =
        (struct tic_line_input){record->words[0], record->words[1]};
    return 0;
}

/* A worker executes one task at a time. */
static void note_running(struct search *search, const struct tic_log_record *record)
{
    bool starts = record->kind == TIC_LOGGED_STARTED && record->count == 2;
    bool ends = record->kind == TIC_LOGGED_FINISHED && record->count > 6;
    uint32_t worker = starts ? (uint32_t)record->words[1] : ends ? (uint32_t)record->words[6] : 0;

    if (record->time > search->last)
        search->last = record->time;
    if (record->kind == TIC_LOGGED_RUN) /* an earlier one was killed, too */
        memset(search->workers, 0, sizeof(search->workers));
    if ((!starts && !ends) || worker >= TIC_MAX_WORKERS)
        return;
    if (starts) {
        search->workers[worker].task = record->words[0];
        search->workers[worker].time = record->time;
    }
    if (starts || search->workers[worker].task == record->words[0])
        search->workers[worker].runs = starts;
}

static void sum_lost(struct tic_snapshot *snapshot, const struct search *search)
{
    for (unsigned i = 0; i < TIC_MAX_WORKERS; i++) {
        if (!search->workers[i].runs || search->workers[i].time > search->last)
            continue;
        snapshot->lost_tasks++;
        snapshot->lost_ns += search->last - search->workers[i].time;
    }
    snapshot->results_found = snapshot->found_count;
}

static bool visit(void *arg, const struct tic_log_record *record)
{
    struct search *search = arg;
    struct tic_forced forced;

    search->order++;
    note_running(search, record);
    if (record->file != search->file)
        search->status = tic_eventlog_keep(&search->snapshot->log, record->file);
    search->file = record->file;
    if (search->status == 0 && record->kind == TIC_LOGGED_EVENT)
        search->status = note_event(search, record);
    else if (search->status == 0 && record->kind == TIC_LOGGED_INPUT)
        search->status = note_input(search, record);
    else if (search->status == 0 && tic_forced_decode(record, &forced) &&
             !is_done(search->line, forced.sequence))
        search->status = note_result(search, &forced, record->file);
    return search->status == 0;
}

static int by_number(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Hashes of the known events: [i] of the first i. NULL when out of memory. */
static uint64_t *hash_events(const struct tic_line *line)
{
    uint64_t *hashes = calloc(line->event_count + 1, sizeof(*hashes));

    for (size_t i = 0; hashes && i < line->event_count; i++)
        hashes[i + 1] = tic_graph_chain(hashes[i], &line->events[i]);
    return hashes;
}

/* The line gets the events that follow its own without a gap. Each tells by its hash what came
 * before it: another run may have come to others. */
static int add_events(struct tic_line *line, struct search *search)
{
    uint64_t *hashes = hash_events(line);
    size_t most = line->event_count + search->event_count + 1;
    void *grown = realloc(line->events, most * sizeof(*line->events));
    uint64_t hash = hashes ? hashes[line->event_count] : 0;

    bool fine = grown && hashes;

    free(hashes);
    line->events = grown ? grown : line->events;
    if (!fine)
        return -ENOMEM;
    if (search->event_count > 0)
        qsort(search->events, search->event_count, sizeof(*search->events), by_number);
    for (unsigned long i = 0; i < search->event_count; i++) {
        const struct seen *seen = &search->events[i];
        if (seen->number != line->event_count || tic_graph_chain(hash, &seen->event) != seen->hash)
            continue;
        hash = seen->hash;
        line->events[line->event_count++] = seen->event;
    }
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct tic_line_input *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The line gets the inputs that it has not. */
static int add_inputs(struct tic_line *line, const struct search *search)
{
    size_t known = line->input_count, most = known + search->input_count + 1;
    struct tic_line_input *sorted = calloc(known + 1, sizeof(*sorted));
    void *grown = realloc(line->inputs, most * sizeof(*line->inputs));

    line->inputs = grown ? grown : line->inputs;
    if (!sorted || !grown) {
        free(sorted);
        return -ENOMEM;
    }
    memcpy(sorted, line->inputs, known * sizeof(*sorted));
    qsort(sorted, known, sizeof(*sorted), by_id);
    for (unsigned long i = 0; i < search->input_count; i++)
        if (!bsearch(&search->inputs[i], sorted, known, sizeof(*sorted), by_id))
            line->inputs[line->input_count++] = search->inputs[i];
    free(sorted);
    return 0;
}

static int by_sequence(const void *a, const void *b)
{
    const struct tic_forced_found *x = a, *y = b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The last result of each task. What main() had seen when it began must be known, and the same, or
 * main() may see something else this time. */
static int choose(struct tic_snapshot *snapshot, const struct tic_line *line)
{
    uint64_t *hashes = hash_events(line);
    unsigned long kept = 0;

    if (snapshot->found_count > 0)
        qsort(snapshot->found, snapshot->found_count, sizeof(*snapshot->found), by_sequence);
    for (unsigned long i = 0; hashes && i < snapshot->found_count; i++) {
        const struct tic_forced_found *found = &snapshot->found[i];
        if (found->events > line->event_count || hashes[found->events] != found->seen)
            continue;
        if (kept > 0 && snapshot->found[kept - 1].sequence == found->sequence)
            kept--;
        snapshot->found[kept++] = *found;
    }
    snapshot->found_count = kept;
    int status = hashes ? 0 : -ENOMEM;
    free(hashes);
    return status;
}

int tic_snapshot_find_forced(struct tic_snapshot *snapshot, struct tic_line *line)
{
    struct search search = {.snapshot = snapshot, .line = line};
    int status = tic_eventlog_walk(snapshot->store, visit, &search);

    status = search.status ? search.status : status;
    status = status ? status : add_events(line, &search);
    status = status ? status : add_inputs(line, &search);
    status = status ? status : choose(snapshot, line);
    /* Results of before others than main() submitted do not know what the line holds of theirs. */
    snapshot->found_racy = line->spawned_count > 0 || line->kept_count > 0 || line->kept_done > 0;
    if (snapshot->found_racy)
        snapshot->found_count = 0;
    sum_lost(snapshot, &search);
    free(search.events);
    free(search.inputs);
    snapshot->found_outputs = search.outputs;
    return status;
}

/* Where it is now; false: not as its record says. */
static bool locate(struct tic_snapshot *snapshot, struct tic_forced_found *found,
                   struct tic_forced_kept *kept, struct tic_forced_value *values)
{
    struct tic_rows *rows = &snapshot->store->rows;

    *kept = (struct tic_forced_kept){
        .sequence = found->sequence, .file = found->file, .count = found->count};
    for (uint32_t i = 0; i < found->count; i++) {
        const struct tic_forced_output *output = &snapshot->found_outputs[found->first + i];
        if (tic_rows_find(rows, output->segment, output->offset, output->bytes, &kept->rows[i]))
            return false;
        values[i] =
            (struct tic_forced_value){output->id, output->bytes, {kept->rows[i], output->checksum}};
    }
    return true;
}

int tic_snapshot_keep_forced(struct tic_snapshot *snapshot)
{
    unsigned long kept = 0;
    uint32_t used = 0;
    int status = 0;

    for (unsigned long i = 0; i < snapshot->found_count; i++)
        used += snapshot->found[i].count;
    snapshot->found_values = calloc(used + 1, sizeof(*snapshot->found_values));
    used = 0;
    for (unsigned long i = 0; i < snapshot->found_count && status == 0; i++) {
        struct tic_forced_found found = snapshot->found[i];
        struct tic_forced_kept rows;
        if (!snapshot->found_values)
            status = -ENOMEM;
        else if (!locate(snapshot, &found, &rows, snapshot->found_values + used))
            continue;
        status = status ? status : keep(snapshot, &rows);
        found.first = used;
        used += found.count;
        snapshot->found[kept++] = found;
    }
    snapshot->found_count = kept;
    free(snapshot->found_outputs);
    snapshot->found_outputs = NULL;
    /* Rows of results were free until now. */
    tic_rows_sweep_begin(&snapshot->store->rows);
    tic_store_mark_kept(snapshot->store);
    tic_lock(&snapshot->graph->lock);
    for (unsigned long i = 0; i < snapshot->forced_count; i++)
        for (uint32_t k = 0; k < snapshot->forced[i].count; k++)
            tic_rows_mark(&snapshot->store->rows, snapshot->forced[i].rows[k]);
    tic_unlock(&snapshot->graph->lock);
    tic_rows_sweep_end(&snapshot->store->rows);
    return status;
}

static int compare_sequence(const void *key, const void *found)
{
    uint64_t x = *(const uint64_t *)key, y = ((const struct tic_forced_found *)found)->sequence;
    return x < y ? -1 : x > y;
}

const struct tic_forced_found *tic_snapshot_forced_of(const struct tic_snapshot *snapshot,
                                                      uint64_t sequence)
{
    return snapshot->found_count == 0 ? NULL
                                      : bsearch(&sequence, snapshot->found, snapshot->found_count,
                                                sizeof(*snapshot->found), compare_sequence);
}

const struct tic_forced_value *tic_snapshot_forced_values(const struct tic_snapshot *snapshot,
                                                          const struct tic_forced_found *found)
{
    return &snapshot->found_values[found->first];
}

void tic_snapshot_forget_forced(struct tic_snapshot *snapshot)
{
    free(snapshot->found);
    free(snapshot->found_values);
    free(snapshot->found_outputs);
    snapshot->found = NULL;
    snapshot->found_values = NULL;
    snapshot->found_outputs = NULL;
    snapshot->found_count = snapshot->found_capacity = 0;
}

/* ---- the checkpoint thread ------------------------------------------------------------------ */

void tic_snapshot_mark_forced_locked(struct tic_snapshot *snapshot, bool committed)
{
    struct tic_rows *rows = &snapshot->store->rows;
    unsigned long kept = 0;

    for (unsigned long i = 0; i < snapshot->forced_count; i++) {
        const struct tic_forced_kept *result = &snapshot->forced[i];
        if (committed && tic_doneset_contains(&snapshot->graph->done, result->sequence))
            continue;
        for (unsigned k = 0; k < result->count; k++)
            tic_rows_mark(rows, result->rows[k]);
        tic_eventlog_mark(&snapshot->log, result->file);
        snapshot->forced[kept++] = *result;
    }
    snapshot->forced_count = kept;
}
