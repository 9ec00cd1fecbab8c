/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cut: which tasks started before instant t0, without stopping anyone.
 *
 * Every worker has a slot. A task announces itself there with the epoch that it read, and reads
 * the epoch again: if it is still the same, whoever raises the epoch later sees the announcement.
 * Cut c is the set of tasks whose epoch is <= c. Taking it means: active_cut := c, epoch := c + 1,
 * then wait until no slot holds a task of the cut any more.
 *
 * Slots are added while tasks run, for tasks whose worker begins another one before they end. The
 * number of slots is raised before the task announces itself in the new one, and is read after the
 * epoch was raised. So a task that read the same epoch again is in a slot that is looked at, and a
 * task in a slot that is not looked at belongs to no cut yet. The same holds for other questions to
 * all slots that follow a seq_cst store which begin hooks read after their announcement. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"

enum {
    TIC_MAX_WORKERS = 256,
    TIC_CUT_CHUNK = TIC_MAX_WORKERS, /* slots that are allocated together */
    TIC_CUT_CHUNKS = 4096,           /* at most: a million tasks that have not ended */
};

enum tic_slot_state { TIC_SLOT_IDLE = 0, TIC_SLOT_ENTERING = 1, TIC_SLOT_RUNNING = 2 };

/* A growing array written by one worker; the checkpoint thread takes it over when no task of its
 * epoch can append any more. */
struct tic_sequence_list {
    uint64_t *items;
    unsigned long count, capacity;
};

/* For how long copy on write has held a worker: statistics, relaxed, written by the worker. */
enum { TIC_HELD_CLASSES = 16 };
struct tic_held {
    _Atomic uint64_t ns, max_ns;
    _Atomic uint64_t cpu_ns, cpu_max_ns;      /* of these, on a processor */
    _Atomic uint64_t times[TIC_HELD_CLASSES]; /* below 2^i microseconds; the last: longer */
};

/* What codelets with a mark (session/marks.h) ran here; relaxed, each written by whoever has the
 * task, before the slot says that it runs or has ended. */
struct tic_slot_marks {
    _Atomic bool is_skippable;           /* its task */
    _Atomic uint64_t others, skippables; /* that have ended */
};

/* Of a task that writes no data: what it reads is logged when it ends, as it is under way to main
 * memory when the task begins; and for whom. Whoever has the task. */
struct tic_slot_reads {
    bool late;
    uint64_t key;
};

struct tic_forced_taken;

#define TIC_SLOT_ENDING ((const void *)1)

struct tic_slot {
    _Atomic uint64_t state;          /* epoch * 4 + enum tic_slot_state; seq_cst: see above */
    _Atomic uint64_t sequence;       /* worker writes: the task between begin and end; a sequence
                                        number, or TIC_SPAWN_KEY and the index of a spawned task;
                                        relaxed */
    _Atomic(const void *) task;      /* the task between begin and end; TIC_SLOT_ENDING while
                                        somebody ends it, who has the slot to himself; acq_rel */
    _Atomic(const void *) arguments; /* of the running task, if its kernel may change them; NULL;
                                        or a mark while somebody reads them, who has them and
                                        arguments_* to himself; seq_cst */
    char *arguments_before;          /* what they were; NULL until there are some */
    size_t arguments_size;
    _Atomic bool arguments_shared; /* another worker runs a task with the same */
    bool arguments_changed;        /* by the last kernel that has returned */
    size_t arguments_room;         /* twice as much is there */
    const void *codelet;           /* worker only: of the running task, if it has arguments */
    uint64_t key;                  /* worker only: of the running task, if it has arguments */
    bool counts;                   /* worker only: done when it ends, even if it wrote nothing */
    size_t printed;                /* worker only: what stdout held when the task began */
    uint64_t children;             /* worker only: tasks that it has submitted */
    bool away; /* whoever has the task: it computes in other memory than main memory */
    struct tic_slot_reads reads;
    struct tic_forced_taken *result;   /* the same: what is to be saved of it at its end; NULL until
                                          there is some */
    _Atomic bool failed;               /* relaxed: a list could not grow; protection ends */
    struct tic_handle_list writing;    /* worker only: what the running task writes */
    struct tic_sequence_list ended[2]; /* by epoch parity: done tasks */
    struct tic_handle_list dirty[2];   /* by epoch parity: handles that became dirty */
    _Atomic uint64_t dirtied;          /* relaxed: handles ever put into these lists */
    uint64_t forced_ns;                /* worker only: spent on forced checkpoints */
    _Atomic uint64_t reuse_clock;      /* of reuse.h, when the task began; seq_cst */
    _Atomic uint64_t executed;         /* relaxed: statistics, written by the worker */
    struct tic_held held;
    struct tic_slot_marks marks;
    unsigned number; /* immutable */
} __attribute__((aligned(128)));

struct tic_cut {
    _Atomic uint64_t epoch;                    /* seq_cst */
    _Atomic uint64_t active_cut;               /* the cut being taken, or 0; seq_cst */
    _Atomic unsigned slot_count;               /* only grows; seq_cst: see above */
    struct tic_slot *chunks[TIC_CUT_CHUNKS];   /* never move; set before slot_count tells of them */
    _Atomic unsigned watching[TIC_CUT_CHUNKS]; /* spare slots there with arguments;
                                                  seq_cst: raised before, lowered after */
    pthread_mutex_t mutex;                     /* a leaf */
    struct tic_slot **spare; /* guarded by mutex: slots without a task and a worker */
    unsigned long spare_count, spare_capacity; /* the same; there is room for all slots */
};

/* Slots of so many numbers, from 0 on; those of workers come first. */
int tic_cut_init(struct tic_cut *cut, unsigned slots);
void tic_cut_fini(struct tic_cut *cut);

/* The slot of a number below slot_count: of a worker, or a spare one. */
static inline struct tic_slot *tic_cut_slot(const struct tic_cut *cut, unsigned number)
{
    return &cut->chunks[number / TIC_CUT_CHUNK][number % TIC_CUT_CHUNK];
}

/* No task runs: ends those that were cut off, and has the slots of all numbers from `workers` on to
 * spare. 0 or -ENOMEM. */
int tic_cut_start(struct tic_cut *cut, unsigned workers);
/* A slot for a task whose worker's own one is in use: one to spare, of the lowest numbers if they
 * are free, or a new one; NULL: no memory. Until it is given back nobody else gets it. */
struct tic_slot *tic_cut_take_spare(struct tic_cut *cut);
/* Its task has ended. Not of a worker's own slot. */
void tic_cut_give_back(struct tic_cut *cut, struct tic_slot *slot);

/* ---- a worker, around one task: begin, write for each handle it writes, running; end -------- */
static inline uint64_t tic_cut_begin(struct tic_cut *cut, struct tic_slot *slot, uint64_t sequence)
{
    uint64_t epoch = atomic_load(&cut->epoch);
    for (;;) {
        atomic_store(&slot->state, epoch * 4 + TIC_SLOT_ENTERING);
        uint64_t again = atomic_load(&cut->epoch);
        if (__builtin_expect(again == epoch, 1))
            break;
        epoch = again;
    }
    atomic_store_explicit(&slot->sequence, sequence, memory_order_relaxed);
    slot->counts = false;
    slot->children = 0;
    return epoch;
}
/* True when the worker must first save the handle's value for the active cut (copy on write), or
 * compare it with the memory. */
static inline bool tic_cut_must_copy(struct tic_cut *cut, uint64_t epoch, struct tic_handle *handle)
{
    uint64_t active = atomic_load_explicit(&cut->active_cut, memory_order_acquire);
    return __builtin_expect(active != 0, 0) && epoch > active &&
           (tic_handle_is_due(handle, active) || tic_handle_is_unchecked(handle, active));
}
/* A begin is taken back, before any write. */
static inline void tic_cut_retract(struct tic_slot *slot)
{
    atomic_store_explicit(&slot->state, TIC_SLOT_IDLE, memory_order_release);
}
/* What follows is only called by the three below. */
void tic_cut_await_noted(struct tic_handle *handle);
void tic_cut_note_writing(struct tic_slot *slot, struct tic_handle *handle);
void tic_cut_note_dirty(struct tic_slot *slot, uint64_t epoch, struct tic_handle *handle);
void tic_cut_note_done(struct tic_slot *slot, struct tic_sequence_list *list);

static inline void tic_cut_write(struct tic_slot *slot, uint64_t epoch, struct tic_handle *handle)
{
    struct tic_handle_list *writing = &slot->writing;

    /* The writer before may not have reached its end hook: there may be several. Counted in the
     * total order before `noting` is read: a save that finds no writer while it is set keeps this
     * one until dirty_since and the version are those of the value saved. */
    atomic_fetch_add(&handle->saving.writers, 1);
    if (__builtin_expect(atomic_load(&handle->saving.noting), 0))
        tic_cut_await_noted(handle);
    tic_handle_count_write(handle);
    if (__builtin_expect(writing->count < writing->capacity, 1))
        writing->items[writing->count++] = handle;
    else
        tic_cut_note_writing(slot, handle);
    if (__builtin_expect(
            atomic_load_explicit(&handle->saving.dirty_since, memory_order_acquire) == 0, 0))
        tic_cut_note_dirty(slot, epoch, handle);
}

static inline void tic_cut_running(struct tic_slot *slot, uint64_t epoch)
{
    atomic_store_explicit(&slot->state, epoch * 4 + TIC_SLOT_RUNNING, memory_order_release);
}

/* Ends the task and its writes; its epoch. A task that wrote nothing is not noted as done: its
 * effect lies elsewhere, so a restart executes it again. */
static inline uint64_t tic_cut_end(struct tic_slot *slot)
{
    uint64_t epoch = atomic_load_explicit(&slot->state, memory_order_relaxed) / 4;
    struct tic_sequence_list *ended = &slot->ended[epoch & 1];

    if (slot->writing.count > 0 || slot->counts) {
        if (__builtin_expect(ended->count < ended->capacity, 1))
            ended->items[ended->count++] = slot->sequence;
        else
            tic_cut_note_done(slot, ended);
    }
    for (unsigned long i = 0; i < slot->writing.count; i++)
        atomic_fetch_sub_explicit(&slot->writing.items[i]->saving.writers, 1, memory_order_release);
    slot->writing.count = 0;
    atomic_store_explicit(&slot->executed,
                          atomic_load_explicit(&slot->executed, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->state, TIC_SLOT_IDLE, memory_order_release);
    atomic_store_explicit(&slot->task, NULL, memory_order_release);
    return epoch;
}

/* ---- any thread ------------------------------------------------------------------------------ */
/* Tasks that have ended. */
uint64_t tic_cut_count_executed(const struct tic_cut *cut);
/* Nanoseconds for which copy on write has held workers, all together. */
uint64_t tic_cut_held_time(const struct tic_cut *cut);
/* Does no task run? */
bool tic_cut_is_idle(const struct tic_cut *cut);

/* ---- the checkpoint thread ------------------------------------------------------------------ */
/* Takes a cut now: its number. */
uint64_t tic_cut_raise(struct tic_cut *cut);
/* True when no task of the cut is about to announce writes: its dirty lists are complete. */
bool tic_cut_has_entered(struct tic_cut *cut, uint64_t taken);
/* True when no task of the cut runs any more. */
bool tic_cut_has_ended(struct tic_cut *cut, uint64_t taken);
void tic_cut_finish(struct tic_cut *cut);
