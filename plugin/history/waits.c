/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a restart that redoes a history could wait for ever. */
#include "history/waits.h"

#include <stdlib.h>

/* main() goes on when it has passed. */
static bool lets_main_go_on(const struct tic_line_entry *entry)
{
    return entry->role == TIC_HISTORY_MAIN &&
           (entry->kind == TIC_HISTORY_RETURN || entry->kind == TIC_HISTORY_VALUE ||
            entry->kind == TIC_HISTORY_MERGE);
}

enum tic_history_trouble tic_history_find_cycle(const struct tic_line *line,
                                                struct tic_history_wait *wait)
{
    const uint64_t cut = line->clock << TIC_WAIT_BITS | line->waits;
    uint64_t reached = UINT64_MAX; /* as far as main() may be before one that stands behind */

    for (size_t i = line->history_count; i-- > 0;) {
        const struct tic_line_entry *entry = &line->history[i];
        wait->entry = i;
        if (entry->position > cut)
            return TIC_HISTORY_NO_MORE;
        if (entry->position > reached)
            return TIC_HISTORY_CYCLE;
        if (lets_main_go_on(entry) && entry->position < reached) {
            reached = entry->position;
            wait->other = i;
        }
    }
    return TIC_HISTORY_FINE;
}

/* ---- actors ---------------------------------------------------------------------------------- */

struct place {
    const struct tic_line_entry *entry;
    size_t index;
};

static int by_actor(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->entry->role != y->entry->role)
        return x->entry->role < y->entry->role ? -1 : 1;
    if (x->entry->actor != y->entry->actor)
        return x->entry->actor < y->entry->actor ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_same_actor(const struct place *a, const struct place *b)
{
    return a->entry->role == b->entry->role && a->entry->actor == b->entry->actor;
}

/* Those of one actor, in their order: BEGIN, what it observes, END. What a callback may read its
 * task has before it begins. Callbacks of several tasks with one structure have one key, and begin
 * again. */
static bool is_in_order(const struct tic_line_entry *entry, bool begun)
{
    switch (entry->kind) {
    case TIC_HISTORY_BEGIN:
        return true;
    case TIC_HISTORY_VALUE:
        return begun || entry->role == TIC_HISTORY_CALLBACK;
    case TIC_HISTORY_END:
        return begun;
    default:
        return false;
    }
}

enum tic_history_trouble tic_history_find_unbegun(const struct tic_line *line,
                                                  struct tic_history_wait *wait)
{
    struct place *places = calloc(line->history_count + 1, sizeof(*places));
    enum tic_history_trouble trouble = TIC_HISTORY_FINE;
    size_t count = 0;
    bool begun = false;

    for (size_t i = 0; i < line->history_count && places; i++)
        if (line->history[i].role != TIC_HISTORY_MAIN)
            places[count++] = (struct place){&line->history[i], i};
    if (places)
        qsort(places, count, sizeof(*places), by_actor);
    for (size_t i = 0; i < count && trouble == TIC_HISTORY_FINE; i++) {
        begun = begun && i > 0 && is_same_actor(&places[i - 1], &places[i]);
        const struct tic_line_entry *entry = places[i].entry;
        if (!is_in_order(entry, begun))
            trouble = TIC_HISTORY_UNBEGUN;
        wait->entry = places[i].index;
        begun = entry->kind == TIC_HISTORY_BEGIN || (begun && entry->kind != TIC_HISTORY_END);
    }
    free(places);
    return trouble;
}
