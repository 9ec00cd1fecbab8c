/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One data handle of the application, as the protocol sees it: identity, versions, what is saved.
 *
 * A value is "dirty" from the first write after its last save. `dirty_since` names the epoch of
 * that write: a cut c (all tasks that started in epochs <= c) must save the value iff
 * 0 < dirty_since <= c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/freed.h"
#include "base/layout.h"
#include "base/lock.h"
#include "store/store.h"

/* A saved value; valid for every cut >= since until another one replaces it. */
struct tic_value {
    bool awaits_main; /* it is what main(), or a callback, makes in an access: in no line yet */
    bool exists;
    bool found; /* by a restart, in the event log: a restore may be under way that knows its row */
    bool doubtful;  /* found, and nobody has looked whether the row still holds it */
    bool is_result; /* this run has saved it when its task ended, and the log knows it */
    uint64_t since; /* epoch of the first write that it contains */
    uint64_t version;
    struct tic_saved saved;
};

/* How data is saved that has no layout. Under the handle's lock. */
struct tic_handle;
struct tic_packer {
    /* 0 or -errno; the shape is so many bytes, of a type, if that is known */
    int (*pack)(struct tic_handle *handle, char **bytes, struct tic_shape *shape);
    void (*release)(char *bytes, uint64_t size);
};

/* Its place among those with memory of main(), by address: views.h. Owner thread only. */
struct tic_view {
    struct tic_handle *left, *right;
    char *end; /* the last of those below it and its own; NULL: it is not there */
};

/* Planned partitions of it that are in force, for StarPU. */
struct tic_plans {
    _Atomic unsigned active;
    _Atomic bool readonly; /* these */
};

/* Of a value when its task ended, while a line settles, or main() may change it. */
struct tic_result_hash {
    uint64_t hash, version; /* version + 1; 0: none */
};

/* What main() could look at: looks.c. Owner thread only. */
struct tic_looked {
    uint64_t hash;                         /* when it was logged last, in: */
    uint64_t wait;                         /* this wait of main(); 0: never */
    const struct tic_line_look *recovered; /* in a replay: last; and how many parts of it follow */
    size_t parts;
};

/* 1 + submissions of main() before its last use; 0: none. */
struct tic_main_used {
    uint64_t read, written;
};

/* The last tasks that use it of those that a restart submits anew, where their kernel, callback or
 * thread does: numbers of spawn.h. Guarded by the submission lock. */
struct tic_used_anew {
    uint64_t read, written, commuted;
};

/* In a restart that redoes its history, of the data that has the order: redo_values.c, whose lock
 * guards it if nothing else is said. */
struct tic_redo_place {
    uint8_t queued; /* how tasks that are use it, or data that shares its memory: TIC_QUEUED_*;
                       guarded by the submission lock, as is: */
    bool named; /* at the cut: entries that have still to pass, or callbacks, need it as it is */
    _Atomic unsigned users;      /* who have not returned; changed under a mutex of the redo */
    unsigned coming;             /* who have not begun */
    bool gives_back;             /* it leaves with its value when no users are left */
    struct tic_redo_call *first; /* put off, in their order */
};
enum { TIC_QUEUED_READS = 1, TIC_QUEUED_WRITES = 2, TIC_QUEUED_UNORDERED = 4 };

/* Accesses with a callback that write it: access_callback.c. Guarded by the submission lock, if
 * nothing else is said. StarPU grants them in the order in which main() asks for them. */
struct tic_by_callback {
    uint64_t asked;       /* so far */
    unsigned open;        /* asked for, and not given back */
    unsigned replayed;    /* of these, in the recovered cut: until they are given back no recovered
                             value is written */
    bool put_off;         /* it is to be written then, wherever main() is */
    _Atomic uint8_t held; /* one is granted: TIC_HELD_*; changed by who has the access */
};
enum { TIC_HELD_NOT, TIC_HELD_LIVE, TIC_HELD_REPLAYED };

/* Where the value may be, on several memory nodes of StarPU. */
enum tic_asked {
    TIC_ASKED_NOT,
    TIC_ASKED_NOW,  /* somebody is in the call that asks */
    TIC_ASKED_OVER, /* the same, and the access was granted meanwhile, and is over */
    TIC_ASKED
};
struct tic_movable {
    bool may;           /* StarPU may move it out of main memory between accesses; immutable after
                           registration */
    _Atomic int asked;  /* enum tic_asked: for an access, to save or to fetch it; from NOT to NOW
                           under the handle's lock, while it does not leave */
    _Atomic bool stale; /* main memory lacks the value: snapshot/window.h; seq_cst */
    bool closed;        /* guarded by lock: it has parts, so that StarPU gives no access */
    _Atomic bool lacks_row; /* it could not be saved for that; relaxed */
};

struct tic_redux;

/* What main() got back while others that share the memory stayed. */
struct tic_departure {
    struct tic_layout layout; /* base NULL: tasks may have written it since */
    uint64_t checksum;
    uint64_t submitted_writes; /* of the family */
};

/* Handles that share memory: family.h. */
struct tic_family {
    struct tic_handle *root; /* immutable */
    bool planned;   /* guarded by the graph lock: all others are planned parts of the root */
    bool has_plans; /* guarded by the graph lock: partitions were planned */
    struct tic_handle **members; /* the root first; guarded by the graph lock */
    unsigned long count, capacity;
    uint64_t submitted_writes; /* guarded by the submission lock */
    bool pending;              /* guarded by the submission lock: some member's value is */
    bool live;                 /* guarded by the submission lock: it holds a value of this run */
    _Atomic uint64_t writes;   /* the last version; relaxed */
    struct tic_departure left; /* owner thread only */
};

/* Has it content that lines hold? */
enum tic_emptiness {
    TIC_WITH_CONTENT,
    TIC_WITHOUT_CONTENT,
    TIC_EXCLUDED /* it has, and they do not (interpose/exclude.h) */
};

/* What tasks and main() do with it. Guarded by the submission lock, if nothing else is said. */
struct tic_handle_use {
    uint64_t submitted_writes;
    struct tic_main_used main_used;
    _Atomic bool invalid;   /* it has no value until something is written; relaxed */
    _Atomic bool mentioned; /* a task used it; relaxed */
    _Atomic bool look;      /* main() may look at it by pointer: looks.c; owner thread writes, and
                               then it is in a list of those that tasks have begun to write: */
    _Atomic bool look_listed;
    _Atomic bool led;       /* a task has put an address there: unseen/left.h */
    bool touched;           /* in a recovered run, a live task uses it */
    bool derived;           /* its first content came from tasks, through a partition */
    _Atomic uint32_t users; /* of a planned part: tasks that use it, and have not ended */
    struct tic_by_callback by_callback;
    struct tic_used_anew anew;

    /* ---- owner thread only */
    struct tic_plans plans;
    _Atomic unsigned holds; /* accesses of the program that are not released */
    bool main_writes;       /* main() holds it for writing */
    bool main_fills;        /* the same, and nobody needs to know what was there */
    bool exposed;           /* no home node, and main() has had a pointer to it within an access */
    bool was_partitioned;   /* by main(), maybe long ago */
    bool given_back;        /* main() may read its memory: it was unregistered, others share it */
    uint64_t main_version;  /* what it wrote last in such an access; 0: nothing */
    struct tic_looked looked;
    bool accumulates; /* it is an accumulator of a reduction */
    void *user_data;  /* what the application stored with starpu_data_set_user_data */
};

/* Its values: versions, and what the store has of them. */
struct tic_handle_saving {
    _Atomic uint64_t dirty_since; /* set by the exclusive writer, cleared under lock; release */
    _Atomic uint64_t version;     /* writes begun; changed by the exclusive writer. 0: none was
                                     declared */
    _Atomic uint64_t written_in;  /* tic_graph_knowledge when its last write began; UINT64_MAX:
                                     main() may write it at any time; relaxed */
    _Atomic uint64_t checked;     /* the last cut whose value was compared with the memory; set
                                     under lock; release */
    _Atomic uint32_t writers;     /* tasks that write it, between begin and end hook */
    _Atomic bool noting; /* somebody decides, under lock, whether what he copied is its value: who
                            begins to write it waits; seq_cst */
    _Atomic bool listed; /* it is in a list of those whose value the next line may name anew */
    _Atomic bool split;  /* a partition is in force: its parts hold its content; relaxed */
    _Atomic bool leaves; /* set under lock: StarPU's handle may be gone at any time */
    _Atomic bool wanted; /* main() waits for the lock, while a thread of ours may be copying a large
                            value under it */
    struct tic_lock lock;

    /* ---- guarded by lock */
    struct tic_value current;
    struct tic_value previous; /* valid for the active cut when current is newer */
    struct tic_result_hash result;
    struct tic_value handed; /* the value of the last task but one that writes it, saved for that
                                one (snapshot/extension.h); its row is busy */
    unsigned refills;        /* times that its initial content changed */
    _Atomic uint64_t used_again; /* epoch of the last use that a restart makes again, beyond the
                                    newest line: snapshot/reuse.h; relaxed */
};

/* In a restart. Guarded by the submission lock, if nothing else is said. */
struct tic_handle_restart {
    bool pending;      /* a recovered value must be restored before the first live access */
    bool live;         /* it holds a value of this run: restored, or written by a live task */
    bool delivered;    /* the same, and that is its recovered value, which nobody has written since;
                          no task of ours is under way that does */
    bool restored;     /* the recovered value was written into it */
    bool adopted;      /* its value is one of the event log that no line knew */
    bool skips_listed; /* it is among what skipped tasks write, for looks_replay.c */
    bool differs;      /* owner thread only: its first content is not that of the recorded run */
    bool shown;        /* owner thread only: what was logged was written into it */
    bool partition_over;       /* owner thread only: it is unpartitioned within the recovered cut */
    uint64_t main_writes_left; /* owner thread only: writes by main() that belong to the cut */
    bool repeats_access; /* owner thread only: of main(), which the recovered cut has, from its
                            begin until it is granted */
    struct tic_redo_place redo;
};

/* Its place among all. Guarded by the graph lock. */
struct tic_handle_listing {
    uint64_t gone_since;          /* epoch in which it was unregistered; 0: alive */
    bool leaving;                 /* the owner thread has not finished with it: it is not freed */
    bool pinned;                  /* gone, but main() may read its memory: its value stays */
    struct tic_handle **overlaps; /* members of its family that share memory with it */
    unsigned long overlap_count, overlap_capacity;
    unsigned long index;  /* in the registry */
    bool is_root;         /* owner thread only: of its family, which goes with it */
    struct tic_view view; /* owner thread only */
};

/* What it is; and the records of those who use it. Where tasks are many and small, what they cost
 * is mostly how many cache lines they touch: a submission touches the first two, and a worker the
 * first and the third. */
struct tic_handle {
    uint64_t id;          /* immutable: order of appearance in its submission context */
    uint64_t signed_size; /* immutable once used: bytes in the signature; 0: packed; exclude.c */
    _Atomic(struct tic_family *) family; /* owner thread writes: those that share its memory by
                                            planned partitions, or NULL */
    struct tic_redux *redux;             /* owner thread only: its reductions, or NULL */
    int home_node;                       /* immutable after registration */
    _Atomic bool shares;                 /* it has a family; set after that */
    bool is_value;  /* immutable after registration: supported, and not empty */
    bool supported; /* immutable after registration: the layout below can be saved */
    bool imaged;    /* memory of main() that a line holds whole, and that is compared with what
                       was saved of it; immutable after registration, but for exclude.c */
    bool foreign;   /* no data of the graph: only user_data counts */
    uint8_t empty;  /* enum tic_emptiness; owner thread writes, before a task uses it */
    struct tic_handle_use use __attribute__((aligned(64)));
    struct tic_handle_saving saving __attribute__((aligned(64)));
    struct tic_handle_restart restart;
    struct tic_handle_listing listing;
    struct tic_movable movable;
    struct tic_layout layout; /* base: owner thread, and writers in their begin hook when the handle
                                 has no home node; the rest immutable */
    const struct tic_packer *packer; /* immutable after registration; NULL: the layout above */

    /* ---- owner thread only (the thread that submits) */
    void *data; /* the StarPU handle */
    struct tic_handle *parent;
    struct tic_handle **children; /* the partition in force */
    unsigned child_count;
};
_Static_assert(offsetof(struct tic_handle_use, by_callback) < 64,
               "submissions touch one line of it");
_Static_assert(offsetof(struct tic_handle_saving, lock) < 64, "workers touch one line of it");

struct tic_handle_list {
    struct tic_handle **items;
    unsigned long count, capacity;
};
/* False when out of memory. */
bool tic_handle_append(struct tic_handle_list *list, struct tic_handle *handle);

struct tic_handle *tic_handle_create(uint64_t id);
void tic_handle_destroy(struct tic_handle *handle);

/* A thread of ours that copies a large value of it stops that: main() may do so faster, and is in
 * the program's way meanwhile. */
static inline void tic_handle_lock_for_main(struct tic_handle *handle)
    TIC_THREAD_SAFETY(acquire_capability(handle->saving.lock))
{
    atomic_store_explicit(&handle->saving.wanted, true, memory_order_relaxed);
    tic_lock(&handle->saving.lock);
    atomic_store_explicit(&handle->saving.wanted, false, memory_order_relaxed);
}

/* A write begins: its version. Called by the exclusive writer of handles without family. */
void tic_handle_count_family_write(struct tic_handle *handle);
static inline void tic_handle_count_write(struct tic_handle *handle)
{
    if (__builtin_expect(atomic_load_explicit(&handle->shares, memory_order_acquire), 0))
        tic_handle_count_family_write(handle);
    else /* StarPU orders writers, so nobody else changes it now */
        atomic_store_explicit(&handle->saving.version,
                              atomic_load_explicit(&handle->saving.version, memory_order_relaxed) +
                                  1,
                              memory_order_relaxed);
}

/* It is changed, and nobody has declared that: a later value than what was declared, if anything
 * was. Under its lock. */
static inline void tic_handle_count_change(struct tic_handle *handle)
{
    if (atomic_load(&handle->shares) || atomic_load(&handle->saving.version) > 0)
        tic_handle_count_write(handle);
    handle->saving.result.version = 0;
}

/* Its recovered value was written too early: it waits again. False when it was not written. */
static inline bool tic_handle_put_off(struct tic_handle *handle)
{
    bool restored = handle->restart.restored;

    handle->restart.pending |= restored;
    handle->restart.live &= !restored;
    handle->restart.restored = false;
    return restored;
}

/* Does its value lie in memory of the program, as its layout says? */
static inline bool tic_handle_has_memory(const struct tic_handle *handle)
{
    return handle->home_node >= 0 && handle->is_value && !handle->packer;
}

/* Has main() given its memory to free(), without unregistering it? */
static inline bool tic_handle_is_freed(const struct tic_handle *handle)
{
    return tic_freed_has(handle, handle->layout.base);
}

/* Is its memory there: mapped, and not freed? */
static inline bool tic_handle_is_there(const struct tic_handle *handle)
{
    return !tic_handle_is_freed(handle) && tic_layout_is_mapped(&handle->layout);
}

/* Had it left the graph by this cut? Under the graph lock. */
static inline bool tic_handle_is_gone(const struct tic_handle *handle, uint64_t cut)
{
    return handle->listing.gone_since != 0 && handle->listing.gone_since <= cut;
}

/* True when cut c must save the value. */
static inline bool tic_handle_is_due(struct tic_handle *handle, uint64_t cut)
{
    uint64_t since = atomic_load_explicit(&handle->saving.dirty_since, memory_order_acquire);
    return since != 0 && since <= cut;
}

/* Must its memory be compared with the value of this cut before it changes? */
static inline bool tic_handle_is_unchecked(const struct tic_handle *handle, uint64_t cut)
{
    return handle->imaged &&
           atomic_load_explicit(&handle->saving.checked, memory_order_acquire) < cut;
}

/* Notes a value just written to the store. Under the handle's lock, no writer running.
 * active_cut: the cut being taken, or 0. */
void tic_handle_note_saved_locked(struct tic_handle *handle, const struct tic_saved *saved,
                                  uint64_t active_cut);

/* The value that a cut defines, or NULL when there is none in the store. Under the lock. */
const struct tic_value *tic_handle_value_at_locked(const struct tic_handle *handle, uint64_t cut);
