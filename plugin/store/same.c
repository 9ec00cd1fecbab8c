/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that are stored already. */
#include "store/same.h"

#include <errno.h>
#include <stdlib.h>

/* A value that meets another one at its place takes it: old ones are forgotten. */
enum { ENTRIES = 1 << 14 };

struct tic_same_entry {
    uint64_t key; /* 0: none */
    struct tic_saved saved;
};

int tic_same_init(struct tic_same *same)
{
    tic_lock_init(&same->lock, TIC_RANK_SAME);
    same->entries = calloc(ENTRIES, sizeof(*same->entries));
    return same->entries ? 0 : -ENOMEM;
}

void tic_same_fini(struct tic_same *same)
{
    if (!same->entries)
        return;
    free(same->entries);
    same->entries = NULL;
    tic_lock_fini(&same->lock);
}

/* Of its shape and some of its bytes: cheap, and different for nearly all values that differ. */
static uint64_t sample(const struct tic_layout *layout)
{
    uint64_t key = tic_layout_sample(layout);

    return key ? key : 1;
}

static struct tic_same_entry look_up(struct tic_same *same, uint64_t key)
{
    tic_lock(&same->lock);
    struct tic_same_entry entry = same->entries[key % ENTRIES];
    tic_unlock(&same->lock);
    return entry;
}

static bool is_same_entry(const struct tic_same_entry *a, const struct tic_same_entry *b)
{
    return a->key == b->key && a->saved.row.extent == b->saved.row.extent &&
           a->saved.row.row == b->saved.row.row && a->saved.checksum == b->saved.checksum;
}

/* The row is ours, so nobody frees or writes it: what is noted of it now is what it holds. Before,
 * it may have been freed, and written again. */
static bool holds(struct tic_store *store, const struct tic_same_entry *entry,
                  const struct tic_layout *layout)
{
    struct tic_same_entry now = look_up(&store->same, entry->key);
    struct tic_place place;

    return is_same_entry(entry, &now) &&
           tic_rows_locate(&store->rows, entry->saved.row, tic_shape_bytes(&layout->shape),
                           &place) == 0 &&
           tic_payload_equals(store->h5, &place, layout);
}

bool tic_same_find(struct tic_store *store, const struct tic_layout *layout,
                   struct tic_saved *saved, uint64_t *key)
{
    if (!store->same.entries)
        return false;
    *key = sample(layout);
    struct tic_same_entry entry = look_up(&store->same, *key);
    if (entry.key != *key || !tic_rows_share(&store->rows, entry.saved.row, &layout->shape))
        return false;
    if (!holds(store, &entry, layout)) {
        tic_rows_settle(&store->rows, entry.saved.row);
        return false;
    }
    *saved = entry.saved;
    return true;
}

static void put(struct tic_same *same, uint64_t key, const struct tic_same_entry *entry)
{
    if (!same->entries)
        return;
    tic_lock(&same->lock);
    same->entries[key % ENTRIES] = *entry;
    tic_unlock(&same->lock);
}

void tic_same_note(struct tic_store *store, uint64_t key, const struct tic_saved *saved)
{
    put(&store->same, key, &(const struct tic_same_entry){key, *saved});
}

void tic_same_forget(struct tic_store *store, uint64_t key)
{
    put(&store->same, key, &(const struct tic_same_entry){.key = 0});
}
