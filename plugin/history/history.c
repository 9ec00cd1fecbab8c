/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history of a run: what its actors observed, one entry after the other. */
#include "history/history.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"

void tic_history_init(struct tic_history *history)
{
    memset(history, 0, sizeof(*history));
    tic_tail_init(&history->tail, TIC_TABLE_HISTORY);
}

void tic_history_fini(struct tic_history *history)
{
    tic_tail_fini(&history->tail);
    free(history->open);
    free(history->entries);
    memset(history, 0, sizeof(*history));
}

/* ---- what an earlier run left ---------------------------------------------------------------- */

static int by_actor(const void *a, const void *b)
{
    const struct tic_line_entry *x = a, *y = b;

    if (x->role != y->role)
        return x->role < y->role ? -1 : 1;
    if (x->actor != y->actor)
        return x->actor < y->actor ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static bool is_same_actor(const struct tic_line_entry *a, const struct tic_line_entry *b)
{
    return a->role == b->role && a->actor == b->actor;
}

/* Of begins and ends, sorted, those begins that no end follows. */
static size_t keep_open(struct tic_line_entry *entries, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const bool last = i + 1 == count || !is_same_actor(&entries[i], &entries[i + 1]);
        if (last && entries[i].kind == TIC_HISTORY_BEGIN)
            entries[kept++] = entries[i];
    }
    return kept;
}

int tic_history_load(struct tic_history *history, struct tic_line *line)
{
    size_t count = 0;

    history->open = calloc(line->history_count + 1, sizeof(*history->open));
    history->entries = calloc(line->history_count + 1, sizeof(*history->entries));
    if (!history->open || !history->entries)
        return -ENOMEM;
    history->entry_count = line->history_count;
    history->absent = line->file.without_history != 0;
    if (line->history_count > 0)
        memcpy(history->entries, line->history, line->history_count * sizeof(*line->history));
    for (size_t i = 0; i < line->history_count; i++) {
        const struct tic_line_entry *entry = &line->history[i];
        if (entry->kind == TIC_HISTORY_BEGIN || entry->kind == TIC_HISTORY_END)
            history->open[count++] = *entry;
        else if (entry->kind == TIC_HISTORY_RETURN)
            history->returned = entry->position;
        else if (entry->kind == TIC_HISTORY_RELEASE)
            history->released = entry->position;
    }
    qsort(history->open, count, sizeof(*history->open), by_actor);
    history->open_count = keep_open(history->open, count);
    int status = tic_tail_load(&history->tail, line);
    if (status || !history->absent)
        return status;
    free(history->entries);
    return tic_history_make(line, &history->entries, &history->entry_count);
}

bool tic_history_was_running(const struct tic_history *history, enum tic_history_role role,
                             uint64_t actor)
{
    const struct tic_line_entry key = {.kind = TIC_HISTORY_BEGIN, .role = role, .actor = actor};

    return history->open_count > 0 && bsearch(&key, history->open, history->open_count,
                                              sizeof(*history->open), by_actor) != NULL;
}

static bool is_recovered(const struct tic_history *history, const struct tic_line_entry *entry)
{
    return (entry->kind == TIC_HISTORY_RETURN && entry->position <= history->returned) ||
           (entry->kind == TIC_HISTORY_RELEASE && entry->position <= history->released);
}

int tic_history_append(struct tic_history *history, const struct tic_line_entry *entry,
                       uint64_t epoch)
{
    return history->absent || is_recovered(history, entry)
               ? 0
               : tic_tail_append(&history->tail, entry, epoch);
}

int tic_history_describe(struct tic_history *history, uint64_t cut, uint64_t position,
                         struct tic_line *line)
{
    struct tic_line_entry *entries = (struct tic_line_entry *)(void *)history->tail.items;

    for (unsigned long i = 0; i < history->tail.count; i++)
        if (history->tail.epochs[i] <= cut && entries[i].position > position)
            entries[i].position = position;
    line->file.without_history = history->absent;
    return tic_tail_describe(&history->tail, cut, line);
}

/* ---- projections ----------------------------------------------------------------------------- */

static bool is_acquire(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    const bool merges = line->acquires[i].writes == TIC_ACQUIRE_UNPARTITION;

    return entry->subject == line->acquires[i].id && (entry->kind == TIC_HISTORY_MERGE) == merges;
}

static bool is_read(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    return entry->actor == line->reads[i].task && entry->part == line->reads[i].buffer;
}

static bool is_input(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    return entry->subject == line->inputs[i].id;
}

static bool is_callback(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    return entry->actor == line->callbacks[i].task;
}

static bool is_ran(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    return entry->actor == line->ran[i];
}

static bool is_look(const struct tic_line *line, size_t i, const struct tic_line_entry *entry)
{
    return entry->actor == line->looks[i].wait && entry->subject == line->looks[i].id;
}

#define KIND(name) (1u << TIC_HISTORY_##name)

/* A table, and the entries of the history that it is made of. */
struct projection {
    const char *table;
    size_t count; /* offset of its count in struct tic_line */
    unsigned kinds, roles;
    bool (*is)(const struct tic_line *line, size_t i, const struct tic_line_entry *entry);
};

static const struct projection projections[] = {
    {TIC_LINE_ACQUIRES, offsetof(struct tic_line, acquire_count), KIND(VALUE) | KIND(MERGE),
     KIND(MAIN), is_acquire},
    {TIC_LINE_READS, offsetof(struct tic_line, read_count), KIND(VALUE),
     KIND(CALLBACK) | KIND(KERNEL), is_read},
    {"/inputs", offsetof(struct tic_line, input_count), KIND(INPUT), KIND(MAIN), is_input},
    {"/callbacks", offsetof(struct tic_line, callback_count), KIND(BEGIN), KIND(CALLBACK),
     is_callback},
    {"/ran", offsetof(struct tic_line, ran_count), KIND(BEGIN), KIND(KERNEL), is_ran},
    {"/looks", offsetof(struct tic_line, look_count), KIND(BYTES), KIND(MAIN), is_look},
};

/* The rows of a look are one entry of the history; arguments of tasks are none. Of callbacks some
 * are only said not to wait for main(): find the next row that is this one. */
static bool has_entry(const struct tic_line *line, const struct projection *projection, size_t i,
                      const struct tic_line_entry *entry)
{
    if (projection->is == is_callback)
        return is_callback(line, i, entry);
    return projection->is != is_look ||
           (line->looks[i].part == 0 && line->looks[i].id != TIC_LOOK_ARGUMENTS);
}

static bool is_projection(const struct tic_line *line, const struct projection *projection,
                          bool complete)
{
    size_t at = *(const size_t *)(const void *)((const char *)line + projection->count);

    for (size_t i = line->history_count; i-- > 0;) {
        const struct tic_line_entry *entry = &line->history[i];
        if (!(projection->kinds >> entry->kind & 1) || !(projection->roles >> entry->role & 1))
            continue;
        while (at > 0 && !has_entry(line, projection, at - 1, entry))
            at--;
        if (at == 0)
            return !complete;
        if (!projection->is(line, --at, entry))
            return false;
    }
    return true;
}

const char *tic_history_find_difference(const struct tic_line *line, bool complete)
{
    for (size_t i = 0; i < sizeof(projections) / sizeof(projections[0]); i++)
        if (!is_projection(line, &projections[i], complete))
            return projections[i].table;
    return NULL;
}

/* ---- whether a restart could wait for ever --------------------------------------------------- */

/* Whether a restart that redoes a history could wait for ever. */

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
    const uint64_t cut = tic_line_position(line);
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

/* ---- lines of versions without a history ----------------------------------------------------- */

/* A history for a line of a version without them. */

/* Bits of keys: FORMAT.md. */
static const uint64_t is_spawned = UINT64_C(1) << 63, is_prologue = UINT64_C(3) << 60;

struct key {
    uint64_t key, row; /* row: of /callbacks */
};

struct keys {
    struct key *items;
    size_t count;
};

static bool has(const struct keys *keys, uint64_t key)
{
    const struct key sought = {.key = key};

    return keys->count > 0 &&
           bsearch(&sought, keys->items, keys->count, sizeof(sought), tic_line_by_number) != NULL;
}

static void sort(struct keys *keys)
{
    if (keys->count > 0)
        qsort(keys->items, keys->count, sizeof(*keys->items), tic_line_by_two_numbers);
}

struct making {
    const struct tic_line *line;
    struct keys reads, looks, spawned, callbacks, ran;
    struct tic_line_entry *entries;
    size_t count;
};

static int allocate(struct making *making)
{
    const struct tic_line *line = making->line;

    making->reads.items = calloc(line->read_count + 1, sizeof(struct key));
    making->looks.items = calloc(line->look_count + 1, sizeof(struct key));
    making->spawned.items = calloc(line->spawned_count + 1, sizeof(struct key));
    making->callbacks.items = calloc(line->callback_count + 1, sizeof(struct key));
    making->ran.items = calloc(line->ran_count + 1, sizeof(struct key));
    making->entries =
        calloc(2 * (line->callback_count + line->ran_count) + 1, sizeof(*making->entries));
    return making->reads.items && making->looks.items && making->spawned.items &&
                   making->callbacks.items && making->ran.items && making->entries
               ? 0
               : -ENOMEM;
}

static void list(struct making *making)
{
    const struct tic_line *line = making->line;

    for (size_t i = 0; i < line->read_count; i++)
        making->reads.items[making->reads.count++].key = line->reads[i].task;
    for (size_t i = 0; i < line->look_count; i++)
        making->looks.items[making->looks.count++].key = line->looks[i].wait;
    for (size_t i = 0; i < line->spawned_count; i++)
        making->spawned.items[making->spawned.count++].key = line->spawned[i];
    for (size_t i = 0; i < line->callback_count; i++)
        making->callbacks.items[making->callbacks.count++] =
            (struct key){line->callbacks[i].task, i};
    for (size_t i = 0; i < line->ran_count; i++)
        making->ran.items[making->ran.count++] = (struct key){line->ran[i], i};
    sort(&making->reads);
    sort(&making->looks);
    sort(&making->spawned);
    sort(&making->callbacks);
    sort(&making->ran);
}

static void append(struct making *making, enum tic_history_kind kind, enum tic_history_role role,
                   uint64_t actor, uint64_t position)
{
    making->entries[making->count++] = (struct tic_line_entry){
        .kind = (uint32_t)kind, .role = (uint32_t)role, .actor = actor, .position = position};
}

/* The first of a task counts. */
static bool is_first(const struct making *making, size_t row)
{
    const struct key key = {making->line->callbacks[row].task, row};
    const struct key *found = bsearch(&key, making->callbacks.items, making->callbacks.count,
                                      sizeof(key), tic_line_by_two_numbers);

    return found == making->callbacks.items || found[-1].key != key.key;
}

static bool may_look(const struct making *making, uint64_t key)
{
    const bool prologue = !(key & is_spawned) && key & is_prologue;

    return prologue || has(&making->reads, key) || has(&making->looks, key | TIC_LOOK_CALLBACK);
}

/* The table names tasks of kernels, too, which nobody may submit again. */
static uint32_t part_of(const struct making *making, uint64_t key)
{
    const bool comes = !(key & is_spawned) || has(&making->spawned, key) ||
                       (has(&making->reads, key) && !has(&making->ran, key));

    return TIC_HISTORY_NESTED | (comes ? 0 : TIC_HISTORY_OPTIONAL);
}

static void append_callback(struct making *making, size_t row)
{
    const struct tic_line_callback *callback = &making->line->callbacks[row];
    const uint64_t begun = callback->clock << TIC_WAIT_BITS;
    const uint64_t cut = tic_line_position(making->line);
    const uint64_t position = begun < cut ? begun : cut;

    if (!is_first(making, row))
        return;
    append(making, TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, callback->task, position);
    making->entries[making->count - 1].part = part_of(making, callback->task);
    if (may_look(making, callback->task))
        append(making, TIC_HISTORY_END, TIC_HISTORY_CALLBACK, callback->task, position);
}

static void append_kernels(struct making *making, enum tic_history_kind kind)
{
    for (size_t i = 0; i < making->ran.count; i++)
        if (i == 0 || making->ran.items[i].key != making->ran.items[i - 1].key)
            append(making, kind, TIC_HISTORY_KERNEL, making->ran.items[i].key,
                   tic_line_position(making->line));
}

int tic_history_make(const struct tic_line *line, struct tic_line_entry **entries, size_t *count)
{
    struct making making = {.line = line};
    int status = allocate(&making);

    if (status == 0) {
        list(&making);
        for (size_t i = 0; i < line->callback_count; i++)
            append_callback(&making, i);
        append_kernels(&making, TIC_HISTORY_BEGIN);
        append_kernels(&making, TIC_HISTORY_END);
    }
    free(making.reads.items);
    free(making.looks.items);
    free(making.spawned.items);
    free(making.callbacks.items);
    free(making.ran.items);
    *entries = making.entries;
    *count = making.count;
    return status;
}
