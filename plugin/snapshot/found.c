/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks that a run finds in the log, and their use: what lines do not know. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "snapshot/forced.h"

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
    uint64_t begun;             /* of the last run that began after the line, or 0 */
    int status;
};

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
    if (search->output_count + forced->count > UINT32_MAX ||
        tic_reserve(search->outputs, search->output_capacity,
                    search->output_count + forced->count) != 0 ||
        tic_append(snapshot->recovery.results, snapshot->recovery.result_count,
                   snapshot->recovery.result_capacity, &found) != 0)
        return -ENOMEM;
    memcpy(search->outputs + search->output_count, forced->outputs,
           forced->count * sizeof(*search->outputs));
    search->output_count += forced->count;
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
    return tic_append(search->events, search->event_count, search->event_capacity,
                      &(struct seen){words[0], words[3], {(uint32_t)words[1], (int64_t)words[2]}});
}

static int note_input(struct search *search, const struct tic_log_record *record)
{
    const struct tic_line_input input = {record->words[0], record->words[1]};

    return record->count != 2
               ? 0
               : tic_append(search->inputs, search->input_count, search->input_capacity, &input);
}

/* A worker executes one task at a time. */
static void note_running(struct search *search, const struct tic_log_record *record)
{
    bool starts = record->kind == TIC_LOGGED_STARTED && record->count >= 2;
    bool ends = (record->kind == TIC_LOGGED_FINISHED || record->kind == TIC_LOGGED_ENDED) &&
                record->count > 6;
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

/* The line knows what was written before it, and so does the last run that began after it. */
static void note_volume(struct search *search, const struct tic_log_record *record)
{
    struct tic_account *earlier = &search->snapshot->recovery.earlier;
    struct tic_forced forced;

    if ((double)record->time * 1e-9 <= search->line->created)
        return;
    earlier->logged++;
    if (record->kind == TIC_LOGGED_RUN && record->count >= 5 && record->time > search->begun) {
        search->begun = record->time;
        earlier->runs = record->words[2];
        earlier->spent = record->words[3];
        earlier->lost = record->words[4];
    }
    if (tic_forced_decode(record, &forced))
        for (uint64_t i = 0; i < forced.count; i++)
            earlier->stored += forced.outputs[i].bytes;
}

/* What the run that died had taken since the line; what of that is lost. */
static void sum_account(struct tic_snapshot *snapshot, const struct tic_line *line,
                        const struct search *search, double written)
{
    struct tic_account *earlier = &snapshot->recovery.earlier;
    double death = written > (double)search->last * 1e-9 ? written : (double)search->last * 1e-9;
    double since = search->begun ? (double)search->begun * 1e-9 : line->created;
    uint64_t tail = death > since ? (uint64_t)((death - since) * 1e9) : 0;
    bool logged =
        line->log.tick > 0 || (snapshot->recovery.known.task_count > 0 && !snapshot->recovery.racy);

    if (!search->begun) {
        earlier->runs = line->account.runs;
        earlier->spent = line->account.spent;
        earlier->lost = line->account.lost;
    }
    earlier->spent += tail;
    earlier->lost += logged ? snapshot->recovery.lost_longest_ns : tail;
    earlier->cost = line->account.cost;
    earlier->latency = line->account.latency;
    earlier->stored += line->account.stored;
    earlier->checkpoints = line->account.checkpoints;
    earlier->logged += line->account.logged;
}

static void sum_lost(struct tic_snapshot *snapshot, const struct search *search)
{
    for (unsigned i = 0; i < TIC_MAX_WORKERS; i++) {
        if (!search->workers[i].runs || search->workers[i].time > search->last)
            continue;
        snapshot->recovery.lost_tasks++;
        uint64_t lost = search->last - search->workers[i].time;
        snapshot->recovery.lost_ns += lost;
        if (lost > snapshot->recovery.lost_longest_ns)
            snapshot->recovery.lost_longest_ns = lost;
    }
    snapshot->recovery.results_found = snapshot->recovery.result_count;
}

static bool visit(void *arg, const struct tic_log_record *record)
{
    struct search *search = arg;
    struct tic_forced forced;

    search->order++;
    note_running(search, record);
    note_volume(search, record);
    if (record->file != search->file)
        search->status = tic_eventlog_keep(&search->snapshot->log, record->file);
    search->file = record->file;
    if (record->kind == TIC_LOGGED_COMMITTED && record->count == 1)
        search->snapshot->recovery.line_lost |= record->words[0] > search->line->number;
    if (search->status == 0 && record->kind == TIC_LOGGED_EVENT)
        search->status = note_event(search, record);
    else if (search->status == 0 && record->kind == TIC_LOGGED_INPUT)
        search->status = note_input(search, record);
    else if (search->status == 0 && tic_forced_decode(record, &forced) &&
             !tic_line_is_done(search->line, forced.sequence))
        search->status = note_result(search, &forced, record->file);
    else if (search->status == 0 &&
             (record->kind != TIC_LOGGED_CREATED ||
              (record->count > 0 && !tic_line_is_done(search->line, record->words[0]))))
        search->status = tic_known_note(&search->snapshot->recovery.known, record, search->order);
    return search->status == 0;
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
    tic_sort(search->events, search->event_count, tic_line_by_number);
    for (unsigned long i = 0; i < search->event_count; i++) {
        const struct seen *seen = &search->events[i];
        if (seen->number != line->event_count || tic_graph_chain(hash, &seen->event) != seen->hash)
            continue;
        hash = seen->hash;
        line->events[line->event_count++] = seen->event;
    }
    return 0;
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
    tic_sort(sorted, known, tic_line_by_number);
    for (unsigned long i = 0; i < search->input_count; i++)
        if (!tic_find(&search->inputs[i], sorted, known, tic_line_by_number))
            line->inputs[line->input_count++] = search->inputs[i];
    free(sorted);
    return 0;
}

static int by_sequence(const void *a, const void *b)
{
    const struct tic_forced_found *x = a, *y = b;
    return tic_order(x->sequence, y->sequence) ?: tic_order(x->order, y->order);
}

/* The last result of each task. What main() had seen when it began must be known, and the same, or
 * main() may see something else this time. */
static int choose(struct tic_snapshot *snapshot, const struct tic_line *line)
{
    uint64_t *hashes = hash_events(line);
    unsigned long kept = 0;

    tic_sort(snapshot->recovery.results, snapshot->recovery.result_count, by_sequence);
    for (unsigned long i = 0; hashes && i < snapshot->recovery.result_count; i++) {
        const struct tic_forced_found *found = &snapshot->recovery.results[i];
        if (found->events > line->event_count || hashes[found->events] != found->seen) {
            snapshot->recovery.events_lost = true;
            continue;
        }
        if (kept > 0 && snapshot->recovery.results[kept - 1].sequence == found->sequence)
            kept--;
        snapshot->recovery.results[kept++] = *found;
    }
    snapshot->recovery.result_count = kept;
    int status = hashes ? 0 : -ENOMEM;
    free(hashes);
    return status;
}

/* Results that the lost line had as done are gone, with what tasks without written data had read,
 * and those that came of them mean nothing without. Now and at the next start. */
static void give_up_log(struct tic_snapshot *snapshot)
{
    if (snapshot->recovery.result_count > 0 && !snapshot->options.ignore_results)
        tic_log(TIC_LOG_WARN,
                "a newer recovery line in %s is damaged or gone: tasks of the event log are "
                "executed again",
                snapshot->store->path);
    tic_eventlog_forget(&snapshot->log);
}

int tic_snapshot_find_forced(struct tic_snapshot *snapshot, struct tic_line *line)
{
    struct search search = {.snapshot = snapshot, .line = line};
    double written = tic_store_last_written(snapshot->store);
    int status = tic_eventlog_walk(snapshot->store, visit, &search);

    status = search.status ? search.status : status;
    /* Results of before others than main() submitted do not know what the line holds of theirs. */
    snapshot->recovery.racy = line->spawned_count > 0 || line->kept_count > 0 ||
                              line->kept_done > 0 || line->log.tick > 0;
    /* Results of other ranks may come of what this one was told. */
    bool any = snapshot->recovery.result_count > 0 || snapshot->recovery.of_job;
    bool used = any && !snapshot->recovery.racy && !snapshot->options.ignore_results &&
                !snapshot->recovery.line_lost;
    if (snapshot->recovery.line_lost)
        give_up_log(snapshot);
    /* Without results the run goes its own way after the line, and numbers other data as it likes.
     */
    if (used && status == 0)
        status = add_events(line, &search);
    if (used && status == 0)
        status = add_inputs(line, &search);
    status = status ? status : choose(snapshot, line);
    if (!used)
        snapshot->recovery.result_count = 0;
    tic_known_sort(&snapshot->recovery.known);
    sum_lost(snapshot, &search);
    sum_account(snapshot, line, &search, written);
    free(search.events);
    free(search.inputs);
    snapshot->recovery.outputs = search.outputs;
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
        const struct tic_forced_output *output = &snapshot->recovery.outputs[found->first + i];
        if (tic_rows_find(rows, output->segment, output->offset, output->bytes, &kept->rows[i]))
            return false;
        values[i] = (struct tic_forced_value){
            .id = output->id, .bytes = output->bytes, .saved = {kept->rows[i], output->checksum}};
    }
    return true;
}

bool tic_snapshot_is_whole(struct tic_snapshot *snapshot, const struct tic_forced_value *values,
                           uint32_t count, bool placed)
{
    bool whole = true;

    for (uint32_t i = 0; i < count && whole; i++)
        whole = values[i].fate == TIC_FATE_GOOD || (values[i].fate == TIC_FATE_SPARE && !placed) ||
                tic_store_verify(snapshot->store, &values[i].saved) == 0;
    return whole;
}

int tic_snapshot_keep_forced(struct tic_snapshot *snapshot)
{
    unsigned long kept = 0;
    uint32_t used = 0;
    int status = 0;

    for (unsigned long i = 0; i < snapshot->recovery.result_count; i++)
        used += snapshot->recovery.results[i].count;
    snapshot->recovery.values = calloc(used + 1, sizeof(*snapshot->recovery.values));
    snapshot->recovery.value_count = used;
    used = 0;
    for (unsigned long i = 0; i < snapshot->recovery.result_count && status == 0; i++) {
        struct tic_forced_found found = snapshot->recovery.results[i];
        struct tic_forced_kept rows;
        if (!snapshot->recovery.values)
            status = -ENOMEM;
        else if (!locate(snapshot, &found, &rows, snapshot->recovery.values + used))
            continue;
        status = status ? status : tic_snapshot_keep_result(snapshot, &rows);
        found.first = used;
        used += found.count;
        snapshot->recovery.results[kept++] = found;
    }
    snapshot->recovery.result_count = kept;
    free(snapshot->recovery.outputs);
    snapshot->recovery.outputs = NULL;
    /* Rows of results were free until now. */
    tic_rows_sweep_begin(&snapshot->store->rows);
    tic_store_mark_kept(snapshot->store);
    tic_lock(&snapshot->graph->lock);
    for (unsigned long i = 0; i < snapshot->results.kept_count; i++)
        for (uint32_t k = 0; k < snapshot->results.kept[i].count; k++)
            tic_rows_mark(&snapshot->store->rows, snapshot->results.kept[i].rows[k]);
    tic_unlock(&snapshot->graph->lock);
    tic_rows_sweep_end(&snapshot->store->rows);
    return status;
}

const struct tic_forced_found *tic_snapshot_forced_of(const struct tic_snapshot *snapshot,
                                                      uint64_t sequence)
{
    return tic_find(&sequence, snapshot->recovery.results, snapshot->recovery.result_count,
                    tic_line_by_number);
}

const struct tic_forced_value *tic_snapshot_forced_values(const struct tic_snapshot *snapshot,
                                                          const struct tic_forced_found *found)
{
    return &snapshot->recovery.values[found->first];
}

void tic_snapshot_drop_forced(struct tic_snapshot *snapshot)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < snapshot->recovery.result_count; i++)
        if (!snapshot->recovery.results[i].useless)
            snapshot->recovery.results[kept++] = snapshot->recovery.results[i];
    snapshot->recovery.result_count = kept;
}

/* ---- a replay, owner thread ------------------------------------------------------------------ */

/* The value is the handle's from this epoch on. Nobody writes it, and it is not dirty. */
static void take_value_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                              const struct tic_forced_value *value, uint64_t epoch)
{
    tic_lock(&handle->saving.lock);
    if (handle->saving.current.since <= atomic_load(&snapshot->cut.active_cut))
        handle->saving.previous = handle->saving.current;
    tic_handle_count_write(handle);
    handle->saving.current = (struct tic_value){
        .exists = true,
        .found = true,
        .doubtful = value->fate != TIC_FATE_GOOD,
        .since = epoch,
        .version = atomic_load_explicit(&handle->saving.version, memory_order_relaxed),
        .saved = value->saved,
    };
    tic_unlock(&handle->saving.lock);
}

int tic_snapshot_adopt(struct tic_snapshot *snapshot, const uint64_t *done,
                       const struct tic_forced_value *values, struct tic_handle *const *handles,
                       uint32_t count)
{
    struct tic_graph *graph = snapshot->graph;

    tic_lock(&graph->lock);
    uint64_t epoch = atomic_load(&snapshot->cut.epoch); /* cuts are raised under the graph lock */
    struct tic_sequence_list *list = &snapshot->results.adopted[epoch & 1];
    bool fine = !done || tic_append(list->items, list->count, list->capacity, done) == 0;
    for (uint32_t i = 0; i < count && fine; i++) {
        take_value_locked(snapshot, handles[i], &values[i], epoch);
        fine &= tic_graph_note_changed_locked(graph, handles[i]);
    }
    tic_unlock(&graph->lock);
    return fine ? 0 : -ENOMEM;
}

void tic_snapshot_forget_forced(struct tic_snapshot *snapshot)
{
    free(snapshot->recovery.results);
    free(snapshot->recovery.values);
    free(snapshot->recovery.outputs);
    snapshot->recovery.results = NULL;
    snapshot->recovery.values = NULL;
    snapshot->recovery.outputs = NULL;
    snapshot->recovery.result_count = snapshot->recovery.result_capacity = 0;
    for (unsigned i = 0; i < 2; i++)
        free(snapshot->results.adopted[i].items);
    memset(snapshot->results.adopted, 0, sizeof(snapshot->results.adopted));
    tic_known_clear(&snapshot->recovery.known);
}
