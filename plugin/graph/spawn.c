/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Spawned tasks: submitted by a callback, another task or another thread. */
#include "graph/spawn.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct occurrence {
    uint64_t class, count;
};

int tic_spawns_init(struct tic_spawns *spawns)
{
    memset(spawns, 0, sizeof(*spawns));
    tic_lock_init(&spawns->lock, TIC_RANK_SPAWNS);
    spawns->unused = TIC_SPAWN_NONE;
    tic_tail_init(&spawns->done, TIC_TABLE_SPAWNED);
    tic_tail_init(&spawns->writes, TIC_TABLE_KEPT_WRITES);
    spawns->chunks = calloc(TIC_SPAWN_CHUNKS, sizeof(*spawns->chunks));
    return spawns->chunks ? 0 : -ENOMEM;
}

static void clear(struct tic_spawn *spawn)
{
    free(spawn->buffers);
    free(spawn->arguments);
    spawn->buffers = NULL;
    spawn->arguments = NULL;
}

void tic_spawns_fini(struct tic_spawns *spawns)
{
    for (uint32_t i = 0; spawns->chunks && i < spawns->count; i++)
        clear(tic_spawns_get(spawns, i));
    for (uint32_t i = 0; spawns->chunks && i < TIC_SPAWN_CHUNKS; i++)
        free(atomic_load(&spawns->chunks[i]));
    for (unsigned long i = 0; i < spawns->recovered_count; i++)
        clear(&spawns->recovered[i]);
    for (unsigned long i = 0; i < spawns->function_count; i++)
        free(spawns->functions[i]);
    tdestroy(spawns->classes, free);
    tdestroy(spawns->written, free);
    tic_tail_fini(&spawns->writes);
    tic_tail_fini(&spawns->done);
    free(spawns->recovered_writes);
    free(spawns->chunks);
    free(spawns->functions);
    free(spawns->claimed);
    free(spawns->recovered_done);
    free(spawns->recovered);
    free(spawns->by_root);
    tic_lock_fini(&spawns->lock);
}

/* ---- records -------------------------------------------------------------------------------- */

struct tic_spawn *tic_spawns_get(struct tic_spawns *spawns, uint32_t index)
{
    struct tic_spawn *chunk =
        atomic_load_explicit(&spawns->chunks[index / TIC_SPAWN_CHUNK], memory_order_acquire);
    return &chunk[index % TIC_SPAWN_CHUNK];
}

/* A record that is in nobody's use, or NULL. */
static struct tic_spawn *take_locked(struct tic_spawns *spawns)
{
    struct tic_spawn *spawn;

    if (spawns->unused != TIC_SPAWN_NONE) {
        spawn = tic_spawns_get(spawns, spawns->unused);
        spawns->unused = spawn->next;
        return spawn;
    }
    uint32_t chunk = spawns->count / TIC_SPAWN_CHUNK;
    if (chunk >= TIC_SPAWN_CHUNKS)
        return NULL;
    if (!atomic_load_explicit(&spawns->chunks[chunk], memory_order_relaxed)) {
        struct tic_spawn *fresh = calloc(TIC_SPAWN_CHUNK, sizeof(*fresh));
        if (!fresh)
            return NULL;
        atomic_store_explicit(&spawns->chunks[chunk], fresh, memory_order_release);
    }
    spawn = tic_spawns_get(spawns, spawns->count);
    spawn->index = spawns->count++;
    return spawn;
}

struct tic_spawn *tic_spawns_add(struct tic_spawns *spawns, const struct tic_spawn *model)
{
    tic_lock(&spawns->lock);
    struct tic_spawn *spawn = take_locked(spawns);
    if (spawn) {
        spawn->kept = model->kept;
        spawn->task = model->task;
        spawn->buffers = model->buffers;
        spawn->arguments = model->arguments;
        spawn->since = model->since;
        spawn->seen = model->seen;
        spawn->anew = model->anew;
        spawn->used = true;
        spawn->order = model->recovery > 0 ? model->recovery - 1 : spawns->next_order++;
        if (model->recovery > 0) {
            spawns->claimed[model->recovery - 1] = true;
            spawns->claimed_count++;
        }
        atomic_store_explicit(&spawn->started, 0, memory_order_relaxed);
    }
    tic_unlock(&spawns->lock);
    return spawn;
}

static void remove_locked(struct tic_spawns *spawns, struct tic_spawn *spawn)
{
    clear(spawn);
    spawn->used = false;
    spawn->next = spawns->unused;
    spawns->unused = spawn->index;
}

void tic_spawns_remove(struct tic_spawns *spawns, struct tic_spawn *spawn)
{
    tic_lock(&spawns->lock);
    remove_locked(spawns, spawn);
    tic_unlock(&spawns->lock);
}

/* known: the tail or a block holds it already. */
static int add_write_locked(struct tic_spawns *spawns, struct tic_line_kept_write write, bool known)
{
    struct tic_line_kept_write *entry = malloc(sizeof(*entry)), **found = NULL;

    if (entry) {
        *entry = write;
        found = tsearch(entry, &spawns->written, tic_line_by_two_numbers);
    }
    if (!found || *found != entry) { /* known, or no memory */
        free(entry);
        return found ? 0 : -ENOMEM;
    }
    return known ? 0 : tic_tail_append(&spawns->writes, &write, 0);
}

/* Nobody submits it again in a restart, which must know what it wrote. */
static int add_writes_locked(struct tic_spawns *spawns, const struct tic_spawn *spawn)
{
    int status = 0;

    for (uint32_t i = 0; i < spawn->task.buffers && status == 0; i++)
        if (spawn->buffers[i].mode & TIC_MODE_WRITE)
            status = add_write_locked(
                spawns, (struct tic_line_kept_write){spawn->task.root, spawn->buffers[i].handle},
                false);
    return status;
}

/* A kept task whose tag or callback others may wait for stays, as a control task. */
int tic_spawns_note_done(struct tic_spawns *spawns, uint32_t index)
{
    struct tic_spawn *spawn = tic_spawns_get(spawns, index);
    int status = 0;

    tic_lock(&spawns->lock);
    spawns->kept_done += spawn->kept;
    if (spawn->kept && (spawn->task.flags & TIC_KEPT_CONTROL)) {
        spawn->task.flags |= TIC_KEPT_DONE;
    } else {
        status = spawn->kept ? add_writes_locked(spawns, spawn)
                             : tic_tail_append(&spawns->done, &spawn->task.id, 0);
        remove_locked(spawns, spawn);
    }
    tic_unlock(&spawns->lock);
    return status;
}

/* ---- identities ----------------------------------------------------------------------------- */

bool tic_spawns_occurrence(struct tic_spawns *spawns, uint64_t class, uint64_t *before)
{
    struct occurrence *fresh = malloc(sizeof(*fresh));

    if (!fresh)
        return false;
    *fresh = (struct occurrence){.class = class};
    tic_lock(&spawns->lock);
    struct occurrence **found = tsearch(fresh, &spawns->classes, tic_line_by_number);
    struct occurrence *entry = found ? *found : NULL;
    if (entry)
        *before = entry->count++;
    tic_unlock(&spawns->lock);
    if (entry != fresh)
        free(fresh);
    return entry != NULL;
}

bool tic_spawns_was_done(const struct tic_spawns *spawns, uint64_t id)
{
    return tic_find(&id, spawns->recovered_done, spawns->recovered_done_count, tic_line_by_number);
}

bool tic_spawns_is_done(struct tic_spawns *spawns, uint64_t id)
{
    if (!tic_spawns_was_done(spawns, id))
        return false;
    tic_lock(&spawns->lock);
    spawns->seen_count++;
    tic_unlock(&spawns->lock);
    return true;
}

/* ---- what an earlier run left --------------------------------------------------------------- */

/* First place in by_root whose root is not below the given one. */
static unsigned long find_root(const struct tic_spawns *spawns, uint64_t root)
{
    unsigned long low = 0, high = spawns->recovered_count;
    while (low < high) {
        unsigned long middle = (low + high) / 2;
        if (spawns->recovered[spawns->by_root[middle]].task.root < root)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct tic_spawn *tic_spawns_next(struct tic_spawns *spawns, uint64_t root,
                                        unsigned long *cursor)
{
    unsigned long at = *cursor ? *cursor : find_root(spawns, root);

    if (at >= spawns->recovered_count || spawns->recovered[spawns->by_root[at]].task.root != root)
        return NULL;
    *cursor = at + 1;
    return &spawns->recovered[spawns->by_root[at]];
}

bool tic_spawns_next_write(struct tic_spawns *spawns, uint64_t root, unsigned long *cursor,
                           uint64_t *handle)
{
    const struct tic_line_kept_write *writes = spawns->recovered_writes;
    const unsigned long count = spawns->recovered_write_count;
    unsigned long at = *cursor ? *cursor : tic_first_from(root, writes, count);

    if (at >= count || writes[at].root != root)
        return false;
    *handle = writes[at].handle;
    *cursor = at + 1;
    return true;
}

bool tic_spawns_was_written(struct tic_spawns *spawns, uint64_t handle, uint64_t position)
{
    bool written = false;

    for (unsigned long i = 0; i < spawns->recovered_write_count && !written; i++)
        written = spawns->recovered_writes[i].handle == handle &&
                  spawns->recovered_writes[i].root < position;
    return written;
}

bool tic_spawns_is_complete(struct tic_spawns *spawns)
{
    tic_lock(&spawns->lock);
    bool complete = spawns->claimed_count == spawns->recovered_count &&
                    spawns->seen_count >= spawns->recovered_done_count;
    tic_unlock(&spawns->lock);
    return complete;
}

static void *duplicate(const void *array, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    if (copy && bytes)
        memcpy(copy, array, bytes);
    return copy;
}

static int by_root(const void *a, const void *b, void *arg)
{
    const struct tic_spawn *recovered = arg;
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;
    uint64_t p = recovered[x].task.root, q = recovered[y].task.root;
    return p < q ? -1 : p > q ? 1 : x < y ? -1 : x > y;
}

static int load_kept(struct tic_spawns *spawns, const struct tic_line *line)
{
    size_t buffer = 0, byte = 0;

    spawns->recovered = calloc(line->kept_count + 1, sizeof(*spawns->recovered));
    spawns->by_root = calloc(line->kept_count + 1, sizeof(*spawns->by_root));
    spawns->claimed = calloc(line->kept_count + 1, sizeof(*spawns->claimed));
    if (!spawns->recovered || !spawns->by_root || !spawns->claimed)
        return -ENOMEM;
    for (size_t i = 0; i < line->kept_count; i++) {
        struct tic_spawn *spawn = &spawns->recovered[i];
        spawn->kept = true;
        spawn->recovery = i + 1;
        spawn->order = spawns->next_order++;
        spawn->task = line->kept[i];
        spawn->buffers =
            duplicate(line->buffers + buffer, spawn->task.buffers * sizeof(*spawn->buffers));
        spawn->arguments = duplicate(line->bytes.items + byte, spawn->task.arguments);
        spawns->by_root[i] = i;
        spawns->recovered_count++;
        if (!spawn->buffers || !spawn->arguments)
            return -ENOMEM;
        buffer += spawn->task.buffers;
        byte += spawn->task.arguments;
    }
    qsort_r(spawns->by_root, spawns->recovered_count, sizeof(*spawns->by_root), by_root,
            spawns->recovered);
    return 0;
}

static int load_writes(struct tic_spawns *spawns, struct tic_line *line)
{
    size_t bytes = line->kept_write_count * sizeof(*line->kept_writes);
    int status = tic_tail_load(&spawns->writes, line);

    spawns->recovered_writes = duplicate(line->kept_writes, bytes);
    if (!spawns->recovered_writes)
        return -ENOMEM;
    spawns->recovered_write_count = line->kept_write_count;
    tic_sort(spawns->recovered_writes, spawns->recovered_write_count, tic_line_by_two_numbers);
    for (size_t i = 0; i < line->kept_write_count && status == 0; i++)
        status = add_write_locked(spawns, line->kept_writes[i], true);
    return status;
}

int tic_spawns_load(struct tic_spawns *spawns, struct tic_line *line)
{
    spawns->recovered_done = duplicate(line->spawned, line->spawned_count * sizeof(uint64_t));
    if (!spawns->recovered_done)
        return -ENOMEM;
    spawns->recovered_done_count = line->spawned_count;
    tic_sort(spawns->recovered_done, line->spawned_count, tic_line_by_number);
    spawns->kept_done = line->kept_done;
    atomic_store(&spawns->bound, (unsigned)line->on.machine_bound);
    for (const char *name = line->functions.text, *end = name + line->functions.size; name < end;
         name += strlen(name) + 1)
        if (tic_spawns_function(spawns, name) == TIC_SPAWN_NONE)
            return -ENOMEM;
    int status = tic_tail_load(&spawns->done, line);
    status = status ? status : load_writes(spawns, line);
    return status ? status : load_kept(spawns, line);
}

/* ---- functions ------------------------------------------------------------------------------ */

uint32_t tic_spawns_function(struct tic_spawns *spawns, const char *name)
{
    unsigned long number = 0;

    tic_lock(&spawns->lock);
    while (number < spawns->function_count && strcmp(spawns->functions[number], name) != 0)
        number++;
    if (number == spawns->function_count) {
        char *copy = strdup(name);
        if (!copy || tic_append(spawns->functions, spawns->function_count,
                                spawns->function_capacity, &copy) != 0) {
            free(copy);
            number = TIC_SPAWN_NONE;
        }
    }
    tic_unlock(&spawns->lock);
    return (uint32_t)number;
}

const char *tic_spawns_function_name(struct tic_spawns *spawns, uint32_t number)
{
    tic_lock(&spawns->lock);
    const char *name = number < spawns->function_count ? spawns->functions[number] : NULL;
    tic_unlock(&spawns->lock);
    return name;
}
