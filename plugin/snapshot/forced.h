/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks, beside recovery lines. TIC, forced checkpoints: the result of a stolen
 * task is durable when the task ends, so that it is never executed again, whatever the last local
 * checkpoint was. SEL: that of every task. Jafar, Krings, Gautier, "Flexible Rollback Recovery in
 * Dynamic Heterogeneous Grid Computing", section 4. */
#pragma once

#include "snapshot/snapshot.h"
#include "store/forced.h"

/* A result that lines do not know yet: its rows and its file of the log stay. */
struct tic_forced_kept {
    uint64_t sequence;
    uint64_t epoch; /* 0; or it goes with the first line whose cut is not before this, and sequence
                       and file mean nothing */
    uint64_t file;
    uint32_t count;
    struct tic_row rows[TIC_FORCED_OUTPUTS];
};

/* Is a value whole? */
enum tic_fate {
    TIC_FATE_UNKNOWN, /* it is to be read before its result is used */
    TIC_FATE_GOOD,    /* the plan of the recovery needs it: it was read */
    TIC_FATE_SPARE,   /* by the plan nobody will read it, so nobody has looked */
};
struct tic_forced_value {
    uint64_t id; /* of the handle */
    uint64_t bytes;
    struct tic_saved saved;
    enum tic_fate fate;
};
/* One that the run started with. */
struct tic_forced_found {
    uint64_t sequence, signature, arguments;
    uint64_t order; /* of its record in the log */
    uint64_t file;
    uint64_t events, seen;
    uint32_t count;
    uint32_t first; /* in the array of values */
    bool useless;   /* a value that is needed is damaged */
};

/* The task in this slot has ended, and what it wrote is still as it left it. `forced` says who it
 * is; the outputs are filled here. On its worker. False: it is not saved. */
bool tic_snapshot_force(struct tic_snapshot *snapshot, struct tic_slot *slot,
                        struct tic_forced *forced);

/* Appends to the event log, waiting for a block of it if need be; a failure suspends protection.
 * Nothing is logged meanwhile. Writers are the slots of workers, and the owner thread. 0 or -errno.
 */
int tic_snapshot_append(struct tic_snapshot *snapshot, unsigned writer, enum tic_logged kind,
                        const uint64_t *words, size_t count, uint64_t *file);
/* The same, for the task of a slot: a writer is lent to those that no worker has. */
int tic_snapshot_append_of(struct tic_snapshot *snapshot, const struct tic_slot *slot,
                           enum tic_logged kind, const uint64_t *words, size_t count,
                           uint64_t *file);
unsigned tic_snapshot_owner_writer(const struct tic_snapshot *snapshot);
/* How many events main() has come to, and their hash. Any thread. */
void tic_snapshot_events(struct tic_snapshot *snapshot, uint64_t *count, uint64_t *hash);
/* A task's result could not be recorded: recovery lines are needed. Any thread. */
void tic_snapshot_need_lines(struct tic_snapshot *snapshot, const char *task, const char *why);

/* Do results, and records, since a line was tried last take more space than what is kept?
 * Checkpoint thread. */
bool tic_snapshot_is_log_large(struct tic_snapshot *snapshot);

/* So many bytes of results were stored: enough of them bring a line. Any thread. */
void tic_snapshot_note_volume(struct tic_snapshot *snapshot, uint64_t bytes);
int tic_snapshot_keep_result(struct tic_snapshot *snapshot, const struct tic_forced_kept *result);

/* ---- found.c: recovery, owner thread --------------------------------------------------------- */
/* Reads the log: results of tasks that are not done in the line; the line gets the events that
 * main() came to after it. Before the line is adopted. 0 or -errno. */
int tic_snapshot_find_forced(struct tic_snapshot *snapshot, struct tic_line *line);
/* Finds their values; after the line was adopted. */
int tic_snapshot_keep_forced(struct tic_snapshot *snapshot);
/* The recovered result of a task, or NULL. */
const struct tic_forced_found *tic_snapshot_forced_of(const struct tic_snapshot *snapshot,
                                                      uint64_t sequence);
/* 1 + the number of the last task that has one; 0: none has. */
uint64_t tic_snapshot_forced_end(const struct tic_snapshot *snapshot);
const struct tic_forced_value *tic_snapshot_forced_values(const struct tic_snapshot *snapshot,
                                                          const struct tic_forced_found *found);
/* Are these values of a result as they were? The plan has looked at those that it needs; those that
 * it does not need are read only if they are to be placed all the same. Any thread. */
bool tic_snapshot_is_whole(struct tic_snapshot *snapshot, const struct tic_forced_value *values,
                           uint32_t count, bool placed);
/* Forgets those that are useless. */
void tic_snapshot_drop_forced(struct tic_snapshot *snapshot);
/* These handles hold what a task wrote, and *done is done; done is NULL where a task of ours is to
 * write the rest of its result, before the next cut. Nothing is read. Only where every task before
 * it that uses one of the handles is done, in the line or so: cuts are closed under that. 0 or
 * -ENOMEM. */
int tic_snapshot_adopt(struct tic_snapshot *snapshot, const uint64_t *done,
                       const struct tic_forced_value *values, struct tic_handle *const *handles,
                       uint32_t count);
void tic_snapshot_forget_forced(struct tic_snapshot *snapshot);

/* ---- checkpoint thread ---------------------------------------------------------------------- */
/* Marks the rows and files of results that no line holds. committed: done tasks are in a line;
 * forgets theirs. Under the graph lock. */
void tic_snapshot_mark_forced_locked(struct tic_snapshot *snapshot, bool committed);
