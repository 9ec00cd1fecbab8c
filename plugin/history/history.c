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
    free(history->actors);
    free(history->entries);
    memset(history, 0, sizeof(*history));
}

/* ---- what an earlier run left ---------------------------------------------------------------- */

static int by_actor(const void *a, const void *b)
{
    const struct tic_line_entry *x = a, *y = b;

    return tic_order(x->role, y->role) ?: tic_order(x->actor, y->actor);
}

static int load_actors(struct tic_history *history)
{
    struct tic_line_entry *actors = calloc(history->entry_count + 1, sizeof(*actors));
    size_t count = 0;

    history->actors = actors;
    if (!actors)
        return -ENOMEM;
    for (size_t i = 0; i < history->entry_count; i++)
        if (history->entries[i].kind == TIC_HISTORY_BEGIN ||
            history->entries[i].kind == TIC_HISTORY_END)
            actors[count++] = history->entries[i];
    tic_sort(actors, count, by_actor);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_actor(&actors[history->actor_count - 1], &actors[i]) != 0)
            actors[history->actor_count++] = actors[i];
        else if (actors[i].kind == TIC_HISTORY_END)
            actors[history->actor_count - 1].kind = TIC_HISTORY_END;
    }
    return 0;
}

static int copy(const struct tic_line *line, struct tic_line_entry **entries, size_t *count)
{
    *entries = calloc(line->history_count + 1, sizeof(**entries));
    if (*entries && line->history_count > 0)
        memcpy(*entries, line->history, line->history_count * sizeof(**entries));
    *count = line->history_count;
    return *entries ? 0 : -ENOMEM;
}

int tic_history_load(struct tic_history *history, struct tic_line *line)
{
    history->absent = line->file.without_history != 0;
    int status =
        (history->absent ? tic_history_make : copy)(line, &history->entries, &history->entry_count);
    status = status ? status : load_actors(history);
    for (size_t i = 0; i < line->history_count; i++)
        if (line->history[i].kind == TIC_HISTORY_RETURN)
            history->returned = line->history[i].position;
        else if (line->history[i].kind == TIC_HISTORY_RELEASE)
            history->released = line->history[i].position;
    return status ? status : tic_tail_load(&history->tail, line);
}

static const struct tic_line_entry *find_actor(const struct tic_history *history, uint32_t role,
                                               uint64_t actor)
{
    const struct tic_line_entry key = {.role = role, .actor = actor};

    return tic_find(&key, history->actors, history->actor_count, by_actor);
}

bool tic_history_has_begun(const struct tic_history *history, enum tic_history_role role,
                           uint64_t actor)
{
    return find_actor(history, role, actor) != NULL;
}

static bool is_recovered(const struct tic_history *history, const struct tic_line_entry *entry)
{
    const struct tic_line_entry *known;

    switch (entry->kind) {
    case TIC_HISTORY_RETURN:
        return entry->position <= history->returned;
    case TIC_HISTORY_RELEASE:
        return entry->position <= history->released;
    case TIC_HISTORY_BEGIN:
        return tic_history_has_begun(history, entry->role, entry->actor);
    case TIC_HISTORY_CALL:
    case TIC_HISTORY_CALLED:
    case TIC_HISTORY_END:
        known = find_actor(history, entry->role, entry->actor);
        return known && known->kind == TIC_HISTORY_END;
    default:
        return false;
    }
}

static void note_actor(struct tic_history *history, const struct tic_line_entry *entry)
{
    history->acted |= entry->kind == TIC_HISTORY_BEGIN && entry->role != TIC_HISTORY_RESULT;
}

int tic_history_append(struct tic_history *history, const struct tic_line_entry *entry,
                       uint64_t epoch)
{
    struct tic_line_entry begin = *entry;

    note_actor(history, entry);
    if (is_recovered(history, entry) || (history->absent && entry->kind != TIC_HISTORY_BEGIN))
        return 0;
    if (history->absent) /* the operation is known of all */
        begin.position = begin.position >> TIC_WAIT_BITS << TIC_WAIT_BITS;
    return tic_tail_append(&history->tail, &begin, epoch);
}

/* Those that stand in front of what main() did before them, as they belong to this cut, need no more
 * of main() than the line has: in later lines, too. */
static void limit(struct tic_line_entry *entries, size_t count, uint64_t last)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].position > last)
            entries[i].position = last;
}

int tic_history_describe(struct tic_history *history, uint64_t cut, struct tic_line *line)
{
    int status = tic_tail_describe(&history->tail, cut, line);

    line->file.without_history = history->absent;
    if (status)
        return status;
    const uint64_t last =
        tic_history_find_main(line->history, line->history_count, tic_line_position(line));
    limit(line->history, line->history_count, last);
    limit((struct tic_line_entry *)(void *)history->tail.items, line->history_count, last);
    return 0;
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
    {"/looks", offsetof(struct tic_line, look_count), KIND(BYTES), KIND(MAIN), is_look},
};

/* The rows of a look are one entry of the history; arguments of tasks are none. */
static bool has_entry(const struct tic_line *line, const struct projection *projection, size_t i)
{
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
        while (at > 0 && !has_entry(line, projection, at - 1))
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

uint64_t tic_history_find_main(const struct tic_line_entry *entries, size_t count, uint64_t cut)
{
    uint64_t last = cut;

    for (size_t i = 0; i < count; i++)
        if (entries[i].role == TIC_HISTORY_MAIN && entries[i].kind != TIC_HISTORY_INPUT &&
            entries[i].position > last)
            last = entries[i].position;
    return last;
}

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
    const uint64_t last =
        tic_history_find_main(line->history, line->history_count, tic_line_position(line));
    uint64_t reached = UINT64_MAX; /* as far as main() may be before one that stands behind */

    for (size_t i = line->history_count; i-- > 0;) {
        const struct tic_line_entry *entry = &line->history[i];
        wait->entry = i;
        const uint64_t position = entry->position < last ? entry->position : last;
        if (position > reached)
            return TIC_HISTORY_CYCLE;
        if (lets_main_go_on(entry) && position < reached) {
            reached = position;
            wait->other = i;
        }
    }
    return TIC_HISTORY_FINE;
}

/* ---- lines of versions without a history ----------------------------------------------------- */

/* A history for a line of a version without them, of who had begun. */

/* Bits of keys: FORMAT.md. */
static const uint64_t is_spawned = UINT64_C(1) << 63, is_prologue = UINT64_C(3) << 60;

struct key {
    uint64_t key, row; /* row: of the history */
};

/* Ascending. */
struct keys {
    struct key *items;
    size_t count;
};

static bool has(const struct keys *keys, uint64_t key)
{
    return tic_find(&key, keys->items, keys->count, tic_line_by_number);
}

/* Of rows that begin with one. 0 or -ENOMEM. */
static int list_keys(struct keys *keys, const void *rows, size_t count, size_t row)
{
    keys->items = calloc(count + 1, sizeof(*keys->items));
    if (!keys->items)
        return -ENOMEM;
    for (; keys->count < count; keys->count++)
        memcpy(&keys->items[keys->count].key, (const char *)rows + keys->count * row,
               sizeof(uint64_t));
    tic_sort(keys->items, count, tic_line_by_two_numbers);
    return 0;
}

static int list_begun(struct keys *keys, const struct tic_line *line, uint32_t role)
{
    keys->items = calloc(line->history_count + 1, sizeof(*keys->items));
    if (!keys->items)
        return -ENOMEM;
    for (size_t i = 0; i < line->history_count; i++)
        if (line->history[i].role == role)
            keys->items[keys->count++] = (struct key){line->history[i].actor, i};
    tic_sort(keys->items, keys->count, tic_line_by_two_numbers);
    return 0;
}

struct making {
    const struct tic_line *line;
    struct keys reads, looks, spawned, callbacks, ran;
    struct tic_line_entry *entries;
    size_t count;
};

static int list_all(struct making *making)
{
    const struct tic_line *line = making->line;
    int status = list_keys(&making->reads, line->reads, line->read_count, sizeof(*line->reads));

    status = status
                 ? status
                 : list_keys(&making->looks, line->looks, line->look_count, sizeof(*line->looks));
    status = status ? status
                    : list_keys(&making->spawned, line->spawned, line->spawned_count,
                                sizeof(*line->spawned));
    status = status ? status : list_begun(&making->callbacks, line, TIC_HISTORY_CALLBACK);
    status = status ? status : list_begun(&making->ran, line, TIC_HISTORY_KERNEL);
    making->entries = calloc(2 * line->history_count + 1, sizeof(*making->entries));
    return making->entries ? status : -ENOMEM;
}

static void append(struct making *making, enum tic_history_kind kind, enum tic_history_role role,
                   uint64_t actor, uint64_t position)
{
    making->entries[making->count++] = (struct tic_line_entry){
        .kind = (uint32_t)kind, .role = (uint32_t)role, .actor = actor, .position = position};
}

static bool may_look(const struct making *making, uint64_t key)
{
    const bool prologue = !(key & is_spawned) && key & is_prologue;

    return prologue || has(&making->reads, key) || has(&making->looks, key | TIC_LOOK_CALLBACK);
}

/* There are tasks of kernels, too, which nobody may submit again. */
static uint32_t part_of(const struct making *making, uint64_t key)
{
    const bool comes = !(key & is_spawned) || has(&making->spawned, key) ||
                       (has(&making->reads, key) && !has(&making->ran, key));

    return TIC_HISTORY_NESTED | (comes ? 0 : TIC_HISTORY_OPTIONAL);
}

/* The first of a task counts. */
static bool is_first(const struct keys *keys, const struct key *key)
{
    const struct key *found = tic_find(key, keys->items, keys->count, tic_line_by_two_numbers);

    return found && (found == keys->items || found[-1].key != key->key);
}

static void append_callback(struct making *making, size_t row)
{
    const struct tic_line_entry *begin = &making->line->history[row];
    const uint64_t cut = tic_line_position(making->line);
    const uint64_t position = begin->position < cut ? begin->position : cut;

    if (begin->role != TIC_HISTORY_CALLBACK ||
        !is_first(&making->callbacks, &(struct key){begin->actor, row}))
        return;
    append(making, TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, begin->actor, position);
    making->entries[making->count - 1].part = part_of(making, begin->actor);
    if (may_look(making, begin->actor))
        append(making, TIC_HISTORY_END, TIC_HISTORY_CALLBACK, begin->actor, position);
}

static void append_kernels(struct making *making, enum tic_history_kind kind)
{
    for (size_t i = 0; i < making->ran.count; i++)
        if (is_first(&making->ran, &making->ran.items[i]))
            append(making, kind, TIC_HISTORY_KERNEL, making->ran.items[i].key,
                   tic_line_position(making->line));
}

int tic_history_make(const struct tic_line *line, struct tic_line_entry **entries, size_t *count)
{
    struct making making = {.line = line};
    int status = list_all(&making);

    if (status == 0) {
        for (size_t i = 0; i < line->history_count; i++)
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
