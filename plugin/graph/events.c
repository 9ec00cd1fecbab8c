/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of main(): what it asked and was told, in its order; a replay gives the same answers. */
#include <errno.h>

#include "base/words.h"
#include "graph/tables.h"

int tic_graph_load_events(struct tic_graph *graph, struct tic_line *line)
{
    graph->recovered.events =
        tic_graph_duplicate(line->events, line->event_count, sizeof(*line->events));
    if (!graph->recovered.events)
        return -ENOMEM;
    graph->recovered.event_count = line->event_count;
    for (size_t i = 0; i < line->event_count; i++)
        graph->event_chain = tic_graph_chain(graph->event_chain, &line->events[i]);
    return tic_tail_load(&graph->events, line);
}

uint64_t tic_graph_chain(uint64_t hash, const struct tic_line_event *event)
{
    const uint64_t words[3] = {hash, event->kind, (uint64_t)event->value};

    return tic_words_hash(words, 3, 0);
}

static bool is_answer(const struct tic_line_event *event)
{
    return event->kind >= TIC_EVENT_WORKERS;
}

const struct tic_line_event *tic_graph_next_event(const struct tic_graph *graph)
{
    return graph->next_event < graph->recovered.event_count
               ? &graph->recovered.events[graph->next_event]
               : NULL;
}

int tic_graph_note_event(struct tic_graph *graph, enum tic_event kind, int64_t value)
{
    struct tic_line_event event = {kind, value};

    tic_lock(&graph->lock);
    int status = tic_tail_append(&graph->events, &event, 0);
    graph->next_event += status == 0;
    graph->event_chain = tic_graph_chain(graph->event_chain, &event);
    tic_unlock(&graph->lock);
    return status;
}

int tic_graph_event(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    const struct tic_line_event *event = tic_graph_next_event(graph);

    for (; event && is_answer(event); event = tic_graph_next_event(graph))
        graph->next_event++;
    if (!event)
        return tic_graph_note_event(graph, kind, *value);
    graph->next_event++;
    *value = event->value;
    return event->kind == (uint32_t)kind ? 0 : -EILSEQ;
}

/* The recorded end of the answers that come next: where main() goes on. */
static const struct tic_line_event *find_asked(struct tic_graph *graph)
{
    if (graph->next_asked < graph->next_event)
        graph->next_asked = graph->next_event;
    while (graph->next_asked < graph->recovered.event_count &&
           graph->recovered.events[graph->next_asked].kind != TIC_EVENT_ASKED)
        graph->next_asked++;
    return graph->next_asked < graph->recovered.event_count
               ? &graph->recovered.events[graph->next_asked]
               : NULL;
}

uint64_t tic_graph_end_answers(struct tic_graph *graph, uint64_t position)
{
    const struct tic_line_event *event = tic_graph_next_event(graph);
    uint64_t unasked = 0;

    while (event && is_answer(event)) {
        const struct tic_line_event *end = find_asked(graph);
        if (!end || (uint64_t)end->value > position)
            break;
        unasked += event->kind >= TIC_EVENT_ANSWER || event->kind == TIC_EVENT_SAME;
        graph->next_event++;
        event = tic_graph_next_event(graph);
    }
    return unasked;
}

int64_t tic_graph_find_workers(const struct tic_graph *graph, enum tic_event kind, uint64_t start,
                               bool earlier)
{
    int64_t found = -1;
    bool counts = earlier; /* the recorded run may not have come to this start */

    for (size_t i = 0; i < graph->recovered.event_count; i++) {
        const struct tic_line_event *event = &graph->recovered.events[i];
        if (event->kind == TIC_EVENT_START && (uint64_t)event->value > start)
            break;
        if (event->kind == TIC_EVENT_START)
            counts = earlier || (uint64_t)event->value == start;
        if (event->kind == (uint32_t)kind && counts)
            found = event->value;
    }
    return found;
}

void tic_graph_rewind_events(struct tic_graph *graph)
{
    free(graph->recovered.events);
    graph->recovered.events = (struct tic_line_event *)(void *)graph->events.items;
    graph->recovered.event_count = graph->events.count;
    graph->events.items = NULL;
    tic_tail_fini(&graph->events);
    tic_tail_init(&graph->events, TIC_TABLE_EVENTS);
    graph->next_event = 0;
}

bool tic_graph_expects(struct tic_graph *graph, enum tic_event kind, int64_t *value)
{
    for (uint64_t i = graph->next_event; i < graph->recovered.event_count; i++)
        if (graph->recovered.events[i].kind == (uint32_t)kind) {
            *value = graph->recovered.events[i].value;
            return true;
        }
    return false;
}
