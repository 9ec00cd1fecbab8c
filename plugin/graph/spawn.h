/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Spawned tasks: those that a callback, another task or another thread than the owner submits.
 *
 * A spawned task is replayed when the program itself submits it again in a restart (callbacks run
 * again, and so do tasks that write no handle): its identity is looked up among the done ones. It
 * is kept when its parent is skipped in a restart, so that nobody would submit it: the recovery
 * line holds its descriptor, and recovery submits it where its root is skipped, that is the next
 * ancestor that the program submits itself.
 *
 * A task key is a sequence number of the main context, or the identity of a spawned task, which has
 * TIC_SPAWN_KEY set. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "history/tail.h"
#include "store/line.h"

#define TIC_SPAWN_KEY (UINT64_C(1) << 63)
enum {
    TIC_SPAWN_CHUNK = 4096,
    TIC_SPAWN_CHUNKS = 65536,
    TIC_SPAWN_NONE = UINT32_MAX, /* no function, no record */
};

struct tic_spawn {
    uint32_t index;         /* immutable: its place in the table */
    unsigned long recovery; /* immutable: 1 + its place among the recovered ones, or 0 */
    /* immutable between add and remove */
    bool kept;
    struct tic_line_kept task;       /* if not kept, only .id counts */
    struct tic_line_buffer *buffers; /* task.buffers of them */
    unsigned char *arguments;        /* task.arguments bytes */
    uint64_t seen;  /* uses of data by main() up to this number (tic_handle_use.main_used) are before
                       it */
    uint64_t anew;  /* of those that a restart submits anew: how many had been submitted before it,
                       or before the one of them or of main() that it comes from */
    uint64_t since; /* epoch in which its parent runs */

    _Atomic uint64_t started; /* epoch in which it started, 0: not yet; release/acquire */
    uint64_t order;           /* guarded by the lock: of submission */
    uint32_t next;            /* guarded by the lock: next free record */
    bool used;                /* guarded by the lock */
};

struct tic_spawns {
    struct tic_lock lock;
    _Atomic(struct tic_spawn *) *chunks; /* fixed table: records never move */

    _Atomic unsigned bound; /* sum of enum tic_bound: what tells tasks apart; relaxed */

    /* guarded by lock */
    uint32_t count; /* records that were ever used */
    uint64_t next_order;
    uint32_t unused;      /* first free record or TIC_SPAWN_NONE */
    struct tic_tail done; /* identities of replayed tasks that are done */
    char **functions;     /* names of codelets and callbacks of kept tasks */
    unsigned long function_count, function_capacity;
    struct tic_tail writes; /* of done kept tasks */
    void *written;          /* tsearch tree of all of these */
    void *classes;          /* tsearch tree: how often each class of tasks was submitted */
    bool *claimed;          /* of recovered kept tasks */
    unsigned long claimed_count;
    unsigned long seen_count; /* recovered done tasks that were submitted again */
    uint64_t kept_done;       /* kept tasks that are done, of this run and before */

    /* immutable after load */
    uint64_t *recovered_done; /* ascending */
    unsigned long recovered_done_count;
    struct tic_spawn *recovered; /* kept tasks, in order of submission */
    unsigned long *by_root;      /* indices into recovered: by root, then in order */
    unsigned long recovered_count;
    struct tic_line_kept_write *recovered_writes; /* ascending (root, handle) */
    unsigned long recovered_write_count;
};

int tic_spawns_init(struct tic_spawns *spawns);
void tic_spawns_fini(struct tic_spawns *spawns);
/* Takes over what a line says; before anything else happens. 0 or -ENOMEM. */
int tic_spawns_load(struct tic_spawns *spawns, struct tic_line *line);
/* Fills the parts of a line for this cut: all its tasks have ended. 0 or -ENOMEM. */
int tic_spawns_describe(struct tic_spawns *spawns, uint64_t cut, struct tic_line *line);
/* So many entries of the tail of a table, if it is one of these, lie in blocks now. */
void tic_spawns_drop_tail(struct tic_spawns *spawns, uint32_t number, size_t count);

/* No line will need the tasks that are done. */
void tic_spawns_forget(struct tic_spawns *spawns);

/* Adds a record: takes over the buffers and arguments of the model. A model made from what
 * tic_spawns_next gave stands for it from now on. NULL when out of memory. */
struct tic_spawn *tic_spawns_add(struct tic_spawns *spawns, const struct tic_spawn *model);
struct tic_spawn *tic_spawns_get(struct tic_spawns *spawns, uint32_t index);
void tic_spawns_remove(struct tic_spawns *spawns, struct tic_spawn *spawn);
/* The task belongs to a cut and has ended. Checkpoint thread. 0 or -ENOMEM. */
int tic_spawns_note_done(struct tic_spawns *spawns, uint32_t index);

/* How often a task of this class was submitted before, by callbacks and threads of this run. False
 * when out of memory. */
bool tic_spawns_occurrence(struct tic_spawns *spawns, uint64_t class, uint64_t *before);
/* Was this task done at the recovered cut? Any thread. */
bool tic_spawns_was_done(const struct tic_spawns *spawns, uint64_t id);
/* The same of a replayed task, which is counted: to be asked once per submission. */
bool tic_spawns_is_done(struct tic_spawns *spawns, uint64_t id);
/* Does the recovered line know of kept tasks? */
static inline bool tic_spawns_has_kept(const struct tic_spawns *spawns)
{
    return spawns->recovered_count > 0 || spawns->recovered_write_count > 0;
}
/* The kept tasks of a root that are to be submitted again, one after the other; then NULL. *cursor
 * starts as 0. */
const struct tic_spawn *tic_spawns_next(struct tic_spawns *spawns, uint64_t root,
                                        unsigned long *cursor);
/* The handles that done kept tasks of a root had written at the recovered cut, one after the other.
 * False: no more. *cursor starts as 0. */
bool tic_spawns_next_write(struct tic_spawns *spawns, uint64_t root, unsigned long *cursor,
                           uint64_t *handle);
/* Had any of them written this handle whose root main() submits before its position-th task? */
bool tic_spawns_was_written(struct tic_spawns *spawns, uint64_t handle, uint64_t position);
/* True when everything of the recovered line was submitted again. */
bool tic_spawns_is_complete(struct tic_spawns *spawns);

/* Number of a function's name, which is added at need; TIC_SPAWN_NONE when out of memory. */
uint32_t tic_spawns_function(struct tic_spawns *spawns, const char *name);
const char *tic_spawns_function_name(struct tic_spawns *spawns, uint32_t number);
