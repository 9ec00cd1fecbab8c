/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commit points: what a line of one holds of the graph, and how a restart goes on from it. */
#include "graph/point.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "base/words.h"
#include "graph/family.h"

/* ---- registered data ------------------------------------------------------------------------- */

/* What main() can change of a datum between two commit points, and a restart would not. */
static uint64_t hash_of(struct tic_handle *handle)
{
    const uint64_t state = atomic_load(&handle->use.plans.active) * UINT64_C(4) +
                           atomic_load(&handle->use.plans.readonly) * UINT64_C(2) +
                           atomic_load(&handle->saving.split);
    const uint64_t words[3] = {handle->id, handle->signed_size, state};

    return tic_words_hash(words, 3, 0);
}

struct registered {
    uint64_t hash; /* in any order */
    unsigned long count;
    uint64_t newest; /* handle id */
};

static struct registered find_registered(struct tic_graph *graph)
{
    struct registered found = {0};

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count; i++) {
        struct tic_handle *handle = graph->handles[i];
        if (handle->listing.gone_since != 0)
            continue;
        found.hash += hash_of(handle);
        found.count++;
        found.newest = handle->id > found.newest ? handle->id : found.newest;
    }
    tic_unlock(&graph->lock);
    return found;
}

/* ---- the first commit point ------------------------------------------------------------------ */

int tic_point_note_first(struct tic_point_first *first, struct tic_graph *graph)
{
    const struct registered found = find_registered(graph);

    first->task = graph->signature.position;
    first->signature = graph->signature.rolling;
    first->handle = graph->next_handle;
    first->registered = found.hash;
    first->data = found.count;
    tic_lock(&graph->lock);
    int status = tic_tail_copy(&graph->inputs, &first->inputs);
    status = status ? status : tic_tail_copy(&graph->events, &first->events);
    tic_unlock(&graph->lock);
    first->is_known = status == 0;
    return status;
}

bool tic_point_has_plans(struct tic_graph *graph)
{
    bool any = false;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && !any; i++)
        any = graph->handles[i]->listing.gone_since == 0 && graph->handles[i]->family &&
              graph->handles[i]->family->has_plans;
    tic_unlock(&graph->lock);
    return any;
}

void tic_point_fini(struct tic_point_first *first)
{
    tic_tail_fini(&first->inputs);
    tic_tail_fini(&first->events);
}

const char *tic_point_compare(const struct tic_point_first *first, struct tic_graph *graph,
                              char *text, size_t size)
{
    const struct registered found = find_registered(graph);

    if (found.hash == first->registered && found.count == first->data)
        return NULL;
    if (found.newest >= first->handle)
        snprintf(text, size,
                 "data %llu%s (number of registration) was registered after the first commit point",
                 (unsigned long long)found.newest, tic_name_of(found.newest));
    else if (found.count < first->data)
        snprintf(text, size,
                 "%lu of the data that were registered at the first commit point are not any more",
                 first->data - found.count);
    else
        snprintf(text, size,
                 "other partitions of data are in force than at the first commit point");
    return text;
}

/* ---- a line ---------------------------------------------------------------------------------- */

void tic_point_describe(const struct tic_point_first *first, struct tic_graph *graph,
                        struct tic_line_point *point)
{
    point->task = first->task;
    point->signature = first->signature;
    point->handle = first->handle;
    point->registered = first->registered;
    point->now_task = graph->signature.position;
    point->now_signature = graph->signature.rolling;
    point->now_handle = graph->next_handle;
    tic_lock(&graph->lock);
    point->now_event = tic_tail_total(&graph->events);
    point->now_chain = graph->event_chain;
    tic_unlock(&graph->lock);
}

static void forget_tails_locked(struct tic_graph *graph)
{
    struct tic_tail *tails[] = {&graph->inputs, &graph->events, &graph->acquires,
                                &graph->reads,  &graph->looks,  &graph->history.tail};

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
        tic_tail_close(tails[i], tic_tail_total(tails[i]));
}

void tic_point_forget(struct tic_graph *graph)
{
    tic_lock(&graph->lock);
    forget_tails_locked(graph);
    for (unsigned long i = 0; i < graph->gone.count; i++) {
        struct tic_handle *handle = graph->gone.items[i];
        if (handle->listing.pinned)
            tic_graph_note_changed_locked(graph, handle);
        handle->listing.pinned = false;
    }
    tic_unlock(&graph->lock);
    tic_spawns_forget(&graph->spawns);
    tic_signature_forget(&graph->signature, graph->signature.position, graph->signature.rolling);
}

/* All tasks of main() before this number are done. */
static int restart_done(struct tic_graph *graph, uint64_t tasks)
{
    tic_doneset_fini(&graph->done);
    return tasks > 0 ? tic_doneset_add_range(&graph->done, (struct tic_range){0, tasks - 1}) : 0;
}

int tic_point_fill(const struct tic_point_first *first, struct tic_graph *graph, uint64_t tasks,
                   struct tic_line *line)
{
    struct tic_tail inputs = first->inputs, events = first->events; /* nothing is appended */
    int status = tic_tail_describe(&inputs, UINT64_MAX, line);

    status = status ? status : tic_tail_describe(&events, UINT64_MAX, line);
    status = status ? status : restart_done(graph, tasks);
    status = status ? status : tic_doneset_ranges(&graph->done, &line->done, &line->done_count);
    line->tasks_submitted = tasks;
    line->tasks_done = tasks + tic_tail_total(&graph->spawns.done);
    line->arguments_compared = graph->signature.compares;
    line->on.words_mixed = graph->signature.mixed;
    return status;
}

/* ---- a restart --------------------------------------------------------------------------------
 */

static void claim_locked(struct tic_handle *handle, const struct tic_line_value *value)
{
    struct tic_family *family = handle->family;
    const bool written = value->version > 0; /* else it is what main() had put there */

    tic_lock(&handle->saving.lock);
    handle->saving.current = (struct tic_value){
        .exists = true,
        .version = value->version,
        .saved = {.row = {value->extent, value->row}, .checksum = value->checksum},
    };
    handle->saving.previous = (struct tic_value){.exists = false};
    handle->saving.result.version = 0;
    atomic_store(&handle->saving.dirty_since, 0);
    atomic_store(&handle->saving.version, value->version);
    tic_unlock(&handle->saving.lock);
    handle->restart.pending = true;
    handle->restart.live = handle->restart.restored = false;
    handle->use.main_version = 0;
    handle->use.submitted_writes += handle->use.submitted_writes == 0 && written;
    atomic_store(&handle->use.invalid, false);
    if (!family)
        return;
    family->pending = true;
    family->live = false;
    family->submitted_writes += family->submitted_writes == 0 && written;
    if (atomic_load(&family->writes) < value->version)
        atomic_store(&family->writes, value->version);
}

static void claim_all(struct tic_graph *graph)
{
    struct tic_recovered *recovered = &graph->recovered;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count; i++) {
        struct tic_handle *handle = graph->handles[i];
        struct tic_line_value *value =
            handle->listing.gone_since != 0 ? NULL : tic_graph_find_value(graph, handle->id);
        if (!value)
            continue;
        recovered->claimed[value - recovered->values] = true;
        claim_locked(handle, value);
    }
    tic_unlock(&graph->lock);
}

void tic_point_take_over(struct tic_graph *graph)
{
    const struct tic_line_point point = graph->recovered.point;

    claim_all(graph);
    tic_point_forget(graph);
    tic_signature_forget(&graph->signature, point.now_task, point.now_signature);
    graph->next_handle = point.now_handle;
    tic_lock(&graph->lock);
    tic_tail_close(&graph->events, point.now_event);
    graph->next_event = point.now_event;
    graph->event_chain = point.now_chain;
    tic_unlock(&graph->lock);
    graph->recovered.point = (struct tic_line_point){.number = 0};
}
