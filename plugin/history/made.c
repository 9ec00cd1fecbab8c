/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/made.h"

#include <errno.h>
#include <stdlib.h>

/* Bits of keys: FORMAT.md. */
static const uint64_t is_spawned = UINT64_C(1) << 63, is_prologue = UINT64_C(3) << 60;

struct key {
    uint64_t key;
    size_t row; /* of /callbacks */
};

struct keys {
    struct key *items;
    size_t count;
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_key_only(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

static bool has(const struct keys *keys, uint64_t key)
{
    const struct key sought = {.key = key};

    return keys->count > 0 &&
           bsearch(&sought, keys->items, keys->count, sizeof(sought), by_key_only) != NULL;
}

static void sort(struct keys *keys)
{
    if (keys->count > 0)
        qsort(keys->items, keys->count, sizeof(*keys->items), by_key);
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
    const struct key *found =
        bsearch(&key, making->callbacks.items, making->callbacks.count, sizeof(key), by_key);

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
