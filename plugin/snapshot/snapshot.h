/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Local checkpoints: when to take one, saving what the cut needs, committing the recovery line.
 * The checkpoint thread does it in the background; workers pay only for copy on write. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "base/pool.h"
#include "base/ranks.h"
#include "base/watch.h"
#include "graph/graph.h"
#include "snapshot/cut.h"
#include "snapshot/extension.h"
#include "snapshot/known.h"
#include "snapshot/pace.h"
#include "snapshot/point.h"
#include "snapshot/protection.h"
#include "snapshot/reuse.h"
#include "snapshot/verify.h"
#include "store/eventlog.h"
#include "store/store.h"

enum tic_phase { TIC_PHASE_IDLE, TIC_PHASE_PROVIDING, TIC_PHASE_SAVING, TIC_PHASE_COMMITTING };

/* Somebody needs a free row of a shape; the checkpoint thread formats a segment. */
struct tic_row_request {
    struct tic_demand demand;
    int status;
    bool done;
    bool left; /* nobody waits for it any more: who serves it frees it */
    struct tic_row_request *next;
};

struct tic_copier;
struct tic_forced_kept;
struct tic_forced_found;
struct tic_forced_value;
struct tic_forced_output;

/* What the plan of a recovery says. */
struct tic_planned {
    uint64_t tasks;         /* that the log knows and that are not done in the line */
    uint64_t executes;      /* of these: have no result */
    uint64_t least;         /* would be executed if those that nobody needs were not */
    uint64_t values, bytes; /* that are needed of what the results hold */
    uint64_t all_values, all_bytes;
};

struct tic_demands {
    struct tic_demand *items;
    unsigned long count, capacity;
};

/* Memory that is not registered data, and that tasks write. */
struct tic_unregistered {
    _Atomic bool written; /* tasks that are done have */
    bool trusted;         /* a restart may go on nevertheless; immutable after start */
};

/* Values that are not in main memory. Immutable while StarPU runs. */
struct tic_other_memory {
    bool written; /* tasks end when their values have come to main memory,
                     which workers see to between tasks */
    /* For accesses to data that may be elsewhere, under no lock; then tic_snapshot_save_granted is
     * called. */
    void (*ask)(struct tic_handle **handles, unsigned long count);
};

/* Settings. Immutable after start. */
struct tic_snapshot_options {
    double patience;     /* seconds that others than the checkpoint thread wait */
    bool endless;        /* they wait as long as it takes */
    unsigned long every; /* ended tasks between checkpoints; 0: any */
    bool dry;            /* nothing is saved */
    bool any_program;    /* another build, or input, may continue */
    bool rerun_off;      /* done tasks are skipped, too, that write no data */
    const char *copy;    /* directory for copies of lines, or NULL */
    int copy_newest;     /* the copy with the newest line, or -1 */
    unsigned keep_lines;
    uint64_t space;               /* bytes of the directory, 0: any */
    uint64_t memory;              /* bytes of values that wait there, 0: TIC_HELD_MOST */
    uint64_t image_least;         /* bytes of those that an image holds; 0: none */
    int compress;                 /* level, 0: none */
    uint64_t log_bound;           /* bytes, 0: none */
    unsigned long forced_percent; /* of the workers' time */
    bool log_all;                 /* SEL: results of all tasks */
    bool periodic;                /* lines are taken every period */
    bool ignore_results;          /* of an earlier run that no line holds */
    uint64_t sync_ns;             /* SEL: when written data is forced to the disk; 0: not */
    struct tic_other_memory other_memory;
};

/* What a restart has found in the store. Immutable after start, but for what is only there while
 * the store is opened: known, outputs. */
struct tic_recovery {
    bool line_lost;                   /* there was a newer line than the one that is used */
    bool events_lost;                 /* a result comes of what no log tells */
    bool racy;                        /* the line that is used holds tasks of others than main() */
    bool of_job;                      /* one of a line of all ranks, which is told of instead */
    bool with_ranks;                  /* results of all ranks are used */
    struct tic_forced_found *results; /* in the event log; ascending sequence */
    unsigned long result_count, result_capacity;
    struct tic_forced_value *values;
    unsigned long value_count;
    struct tic_forced_output *outputs;
    struct tic_known known;
    struct tic_planned planned;   /* statistics */
    struct tic_account earlier;   /* as lines, files and logs tell */
    uint64_t lost_tasks, lost_ns; /* what was running when the earlier run was killed, and for how
                                     long */
    uint64_t lost_longest_ns;     /* of one of these */
    uint64_t results_found;
    unsigned long extended; /* tasks by which the event log extends the line */
};

/* What the checkpoint thread is asked to do, and what comes of it. Guarded by the lock of the
 * snapshot. */
struct tic_control {
    bool stopping;
    bool hurry;          /* no counted checkpoint is finished either */
    bool exited;         /* nobody serves requests any more */
    bool committing;     /* all that the line needs is saved: only the disk is waited for */
    bool silent;         /* the checkpoint thread does not answer: a call of it hangs */
    uint64_t vain_calls; /* graph->calls + 1 when a worker has waited in vain for a counted cut */
    unsigned vain_count; /* how often */
    uint64_t counted;    /* multiples of `every` whose checkpoint has taken its cut */
    bool requested;
    unsigned awaited;                  /* threads that wait for what comes of it */
    uint64_t tries_begun, tries_ended; /* of checkpoints: so many were due, and tried */
    int tried;                         /* what came of the last one, as tic_checkpoint_run */
    struct tic_row_request *requests;
    uint64_t retry_ns; /* suspended: when the store is tried again, CLOCK_MONOTONIC; else 0 */
    double backoff;    /* suspended: seconds between the last trials */
    bool log_wanted;   /* somebody waits for a block of the log, or for: */
    bool log_forced;   /* what is in it is to be on the disk */
    int log_status;    /* what came of it */
};

/* Checkpoint thread only. */
struct tic_cycle {
    enum tic_phase phase;
    uint64_t position;          /* where main() was at the cut */
    struct tic_handle_list due; /* dirty handles of the cut */
    struct tic_pool savers;
    bool over_bound;               /* it was said */
    uint64_t committed;            /* the cut of the newest line of this run */
    uint64_t given_up;             /* cut whose tasks may still run, or 0 */
    uint64_t waited_ns;            /* for tasks of the last cut */
    uint64_t window_ns;            /* when it was opened */
    unsigned stalled;              /* looks at a cut that does not end */
    uint64_t ended_before;         /* tasks, at the last of them */
    uint64_t executed_before;      /* tasks executed at the last line */
    struct tic_demands shapes;     /* of what was ever dirty */
    uint64_t scanned;              /* registrations when rows were counted */
    uint64_t dirtied_before;       /* sum of the slots', at the last cut */
    struct tic_line_block *blocks; /* of tables that only grow */
    unsigned long block_count, block_capacity;
    uint64_t logged_before;           /* bytes of the log when a line was tried last */
    uint64_t synced_ns, synced_bytes; /* the last time */
    bool began;                       /* SEL has asked for its first line */
    bool of_point;                    /* main() is at a commit point for the line */
};

/* Results of tasks in the event log: forced.h. */
struct tic_results {
    _Atomic uint64_t bytes_most; /* relaxed: so many bytes of results and log since then bring a
                                    line, so that their space can be used again; 0: any */
    struct tic_reuse reuse;
    struct tic_forced_kept *kept; /* guarded by the graph lock: results that no line holds */
    unsigned long kept_count, kept_capacity;
    struct tic_sequence_list adopted[2]; /* guarded by the graph lock, by epoch parity: tasks that
                                            are done by what an earlier run left */
    _Atomic bool needs_lines;            /* some results are not in the log; seq_cst */
    _Atomic uint64_t uncovered;          /* relaxed: tasks whose results are not in the log */
    _Atomic bool over_budget;            /* it was said; relaxed */
    _Atomic bool withdrawn;              /* no restart of the ranks uses results; seq_cst */
    _Atomic uint64_t stand_ins; /* tasks that write results in a restart, and have not ended */
};

/* The cut that cannot be saved: suspend.h. */
struct tic_lost_cut {
    _Atomic uint64_t cut; /* set under a handle's lock; seq_cst */
    _Atomic int status;   /* why; written before cut */
};

/* Statistics; relaxed. */
struct tic_snapshot_counts {
    _Atomic uint64_t suspensions;
    _Atomic uint64_t failures;     /* of checkpoints */
    _Atomic uint64_t values_held;  /* in memory, as they could not be written */
    _Atomic uint64_t checkpoints;  /* committed by this run */
    _Atomic uint64_t committed_ns; /* when the last one was, CLOCK_MONOTONIC; 0: none was */
    _Atomic uint64_t main_held_ns;
    _Atomic uint64_t forced_saved;
};

/* Of write-through: window.h. */
struct tic_window {
    _Atomic bool open;      /* seq_cst: set before stale data is looked for, read after it is
                               marked */
    _Atomic uint32_t asked; /* accesses that StarPU was asked for, and has not granted; seq_cst */
    _Atomic uint64_t forced_ns; /* for which results of stolen tasks were on their way; relaxed */
    _Atomic uint64_t opened, ns, fetched, bytes; /* statistics; relaxed */
};

struct tic_snapshot {
    struct tic_graph *graph;
    struct tic_store *store;
    const struct tic_ranks *ranks; /* of an MPI program; NULL: one. Immutable after start */
    struct tic_cut cut;
    struct tic_snapshot_options options;
    struct tic_recovery recovery;
    _Atomic double period;     /* seconds; the checkpoint thread changes it once it runs; relaxed:
                                  nothing follows from it */
    struct tic_copier *copier; /* NULL: none; owner thread, before the checkpoint thread runs */
    uint64_t started_ns;       /* CLOCK_MONOTONIC; immutable after start */
    struct tic_line about;     /* texts and numbers for every line; immutable after start */

    pthread_t thread;
    bool started;
    struct tic_lock lock;
    pthread_cond_t wake;   /* of the checkpoint thread; with lock */
    pthread_cond_t served; /* of those who wait for rows or for a counted cut; with lock */
    struct tic_control control;
    struct tic_cycle cycle;
    struct tic_protection protection; /* suspended: a hint; the truth is control.retry_ns */

    struct tic_pace pace;           /* pace.h */
    struct tic_verify verify;       /* verify.h */
    struct tic_point point;         /* point.h */
    struct tic_window window;       /* window.h */
    struct tic_eventlog log;        /* forced.h */
    struct tic_results results;     /* forced.h */
    struct tic_extension extension; /* extension.h */
    struct tic_unregistered unregistered;
    struct tic_lost_cut lost;
    struct tic_snapshot_counts counts;

    _Atomic bool replaying; /* values of the recovered cut wait: no lines are taken */
    _Atomic bool late_ends; /* tasks may end long after their kernels; relaxed */
    _Atomic uint64_t ended; /* tasks, counted only if every > 0; relaxed */
};

/* Bytes of results that bring a line, at least. Where a line forces them to the disk, that costs
 * more than rows that are used again save. */
#define TIC_RESULTS_LEAST (UINT64_C(64) << 20)
#define TIC_RESULTS_LEAST_SYNC (UINT64_C(1) << 30)

/* 0 or -errno. The graph and store must outlive it. */
int tic_snapshot_init(struct tic_snapshot *snapshot, struct tic_graph *graph,
                      struct tic_store *store, unsigned workers);
void tic_snapshot_fini(struct tic_snapshot *snapshot);
/* 0; -EBUSY: the thread of an earlier start hangs; other -errno. */
int tic_snapshot_start(struct tic_snapshot *snapshot);
int tic_snapshot_begin(struct tic_snapshot *snapshot); /* the same, where none was started before */
/* Ends the checkpoint thread; a checkpoint that is not committed is given up, but for counted ones
 * unless in a hurry: then tasks may be running that never end. If a call holds the thread, it is
 * left to it, and protection ends. */
void tic_snapshot_stop(struct tic_snapshot *snapshot, bool hurry);
/* StarPU is shut down: the same, not in a hurry, but while a line is being committed nobody waits;
 * the next start does, or tic_snapshot_stop. */
void tic_snapshot_release(struct tic_snapshot *snapshot);
/* Tasks that are done have written memory that is not registered data: lines, also those that are
 * there, are not to be continued from. Any thread. */
void tic_snapshot_note_unregistered(struct tic_snapshot *snapshot, const char *what);
/* The checkpoint thread looks whether there is something to do. Any thread. */
void tic_snapshot_wake(struct tic_snapshot *snapshot);
/* Asks for a checkpoint now. Any thread. */
void tic_snapshot_request(struct tic_snapshot *snapshot);
/* Takes a checkpoint now and waits for it, also while protection is suspended; not for what never
 * ends: then, and when nothing runs that could take it, -ECANCELED. 0; 1 when there is nothing new,
 * or memory could not be compared; other -errno. No thread that the checkpoint may wait for. */
int tic_snapshot_take(struct tic_snapshot *snapshot);
/* This rank's results, and what it was told, are not in the log, or do not suffice: no restart uses
 * results of any rank from now on. Any thread. Nothing without ranks that log. */
void tic_snapshot_withdraw_results(struct tic_snapshot *snapshot);
/* The same; where this run uses results, too, it ends: other ranks may have used theirs. */
void tic_snapshot_doubt_results(struct tic_snapshot *snapshot, const char *what);
/* Ends protection for this run; says why, once. Any thread. */
void tic_snapshot_break(struct tic_snapshot *snapshot, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same where something was not done, for lack of memory. */
static inline void tic_snapshot_need(struct tic_snapshot *snapshot, bool done)
{
    if (__builtin_expect(!done, 0))
        tic_snapshot_break(snapshot, "out of memory");
}
#define TIC_LOST_IMAGE                                                                             \
    "a child process that held the program's memory (STARPU_TIC_IMAGE) was ended by somebody, or " \
    "somebody wrote behind StarPU's back when it began"
#define TIC_LOST_FILES                                                                             \
    "values that were written to %s are lost: a file was removed, or the disk fails"
static inline bool tic_snapshot_is_broken(struct tic_snapshot *snapshot)
{
    return tic_protection_is_over(&snapshot->protection);
}

/* The checkpoint thread did not end when asked to, and may come back any time. */
static inline bool tic_snapshot_is_abandoned(const struct tic_snapshot *snapshot)
{
    return atomic_load(&snapshot->protection.state) == TIC_PROTECTION_ABANDONED;
}

/* ---- a worker, around a task ---------------------------------------------------------------- */
/* Saves the value if the active cut still needs it (copy on write), then announces the write. */
void tic_snapshot_save_before(struct tic_snapshot *snapshot, struct tic_slot *slot, uint64_t epoch,
                              struct tic_handle *handle); /* the first half of: */
static inline void tic_snapshot_write(struct tic_snapshot *snapshot, struct tic_slot *slot,
                                      uint64_t epoch, struct tic_handle *handle)
{
    if (__builtin_expect(tic_cut_must_copy(&snapshot->cut, epoch, handle), 0) ||
        __builtin_expect(atomic_load_explicit(&handle->shares, memory_order_acquire), 0))
        tic_snapshot_save_before(snapshot, slot, epoch, handle);
    atomic_store_explicit(&handle->saving.written_in, tic_graph_knowledge(snapshot->graph),
                          memory_order_relaxed);
    tic_cut_write(slot, epoch, handle);
}
void tic_snapshot_task_end(struct tic_snapshot *snapshot, struct tic_slot *slot);
/* An access to data that may be elsewhere, asked for by `ask`, is granted: saves the value if the
 * active cut needs it. Any thread, within the access. */
void tic_snapshot_save_granted(struct tic_snapshot *snapshot, struct tic_handle *handle);

/* ---- the owner thread, when the structure of the graph changes ------------------------------ */
/* For all of these: no task uses the handle, and none that is submitted will. */
/* Saves the value now if it is dirty. */
void tic_snapshot_save_now(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* The same, and tasks may use the handle: not while one writes it. */
void tic_snapshot_save_beside(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* A restart, before main() has come to the recovered cut: what lies in the memory of the handle is
 * its recovered value from now on, and has this version. 0 or -errno. */
int tic_snapshot_take_memory(struct tic_snapshot *snapshot, struct tic_handle *handle,
                             uint64_t version);
/* main() has got access to the handle: a row with its value as it is. 0 or -errno. The row stays
 * busy if *fresh, until tic_rows_settle. */
int tic_snapshot_log_value(struct tic_snapshot *snapshot, struct tic_handle *handle,
                           struct tic_saved *saved, bool *fresh);
/* The handle's memory, and so of what shares it, is somebody's who writes it; until it is touched,
 * cuts know no value: a replay makes it again. With `access` that is main(), and the access is
 * noted in the same epoch. No task uses the handle. 0 or -errno. */
int tic_snapshot_hold(struct tic_snapshot *snapshot, struct tic_handle *handle,
                      const struct tic_line_acquire *access);
/* The same by a callback of an access, which read this. Any thread. */
int tic_snapshot_hold_by_callback(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                  const struct tic_line_read *read);
/* In a restart somebody writes it again, whom the recovered cut knows: cuts know no value until it
 * is touched, unless that cut has one. Any thread. */
void tic_snapshot_hold_again(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* An access of main() that reads only. 0 or -errno. */
int tic_snapshot_note_acquire(struct tic_snapshot *snapshot, const struct tic_line_acquire *access);
/* The callback of a task, or of an access, begins, and has returned; `running` stays where it is in
 * between. Any thread. */
void tic_snapshot_begin_callback(struct tic_snapshot *snapshot, uint64_t task,
                                 struct tic_running_callback *running);
void tic_snapshot_end_callback(struct tic_snapshot *snapshot, struct tic_running_callback *running);
/* It is about to make a call by which others may go on (TIC_HISTORY_CALL), or has come back from
 * one inside of which callbacks may run (TIC_HISTORY_CALLED). */
void tic_snapshot_note_call(struct tic_snapshot *snapshot,
                            const struct tic_running_callback *running, enum tic_history_kind kind);
/* main() comes back from a call that waits for tasks (TIC_HISTORY_RETURN, 0), or is about to give
 * the datum of this id back (TIC_HISTORY_RELEASE). Owner thread. */
void tic_snapshot_note_main(struct tic_snapshot *snapshot, enum tic_history_kind kind, uint64_t id);
/* main() releases it: what it wrote is a new version. */
void tic_snapshot_touch(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* Something else is in its memory than the store has, and nobody has declared to write it. */
void tic_snapshot_note_change(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* As tic_snapshot_touch after a message; no cut is between this and the note. Any thread. */
void tic_snapshot_touch_noting(struct tic_snapshot *snapshot, struct tic_handle *handle,
                               void (*note)(void *arg), void *arg);
/* main() has registered it: its content is part of the next line. */
void tic_snapshot_adopt_content(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* Its parts, just registered, hold its content; a value that a line has stays. */
void tic_snapshot_leave_content(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* The epoch now. */
uint64_t tic_snapshot_epoch(struct tic_snapshot *snapshot);
/* The handle leaves the graph. pinned: main() may read its memory, so its value stays in later
 * lines. On return its memory may change, and the handle may be freed. */
void tic_snapshot_remove(struct tic_snapshot *snapshot, struct tic_handle *handle, bool pinned);
/* The children leave the graph, and their content is the parent's again (unpartition); they may be
 * freed on return. noted: main() unpartitions this handle, and the next line shall say so. */
void tic_snapshot_merge(struct tic_snapshot *snapshot, struct tic_handle *parent, bool changed,
                        bool noted);

/* ---- for checkpoint.c and save.c ------------------------------------------------------------ */
/* Both save the value of a handle that nobody writes; -EBUSY when a task has begun to meanwhile: it
 * stays dirty. The first is for the only task that has written it and has not ended. */
int tic_snapshot_save_own_locked(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* On threads that nobody waits for: the value is only copied, if there is room, and *held says
 * what tic_held_write is to write then; its extent is TIC_NO_EXTENT when there is nothing. */
int tic_snapshot_save_later_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                   struct tic_row *held);
/* Under the lock: waits to be served, at most until then. False: it is then. */
bool tic_snapshot_await_locked(struct tic_snapshot *snapshot, const struct timespec *until);
/* Multiples of `every` that the ended tasks have reached. */
uint64_t tic_snapshot_count(struct tic_snapshot *snapshot);
/* Lets the workers that wait for the cut of this count go on. */
void tic_snapshot_note_counted(struct tic_snapshot *snapshot, uint64_t count);
/* Of the checkpoint thread, as far as others see it. */
uint64_t tic_snapshot_progress(struct tic_snapshot *snapshot);
/* Forces what was logged to the disk, if it is time. */
void tic_snapshot_sync_log(struct tic_snapshot *snapshot);
/* Waits for a wake-up, at most `seconds`; serves requests. True when the thread must end and the
 * checkpoint under way be given up. */
bool tic_snapshot_pause(struct tic_snapshot *snapshot, double seconds);
/* ---- the line, of checkpoint.c; checkpoint thread only --------------------------------------- */
/* Fills a line for this cut: what of it is new goes into blocks and into the index. 0 or -errno. */
int tic_snapshot_describe(struct tic_snapshot *snapshot, uint64_t cut, struct tic_line *line);
/* Tasks that have ended by this cut are done. 0 or -ENOMEM: what is left is tried again. */
int tic_snapshot_merge_done(struct tic_snapshot *snapshot, uint64_t cut);
/* All lines will be of commit points; main() waits at one, and no task runs. */
void tic_snapshot_forget_history(struct tic_snapshot *snapshot);
/* Lets main() go on from its commit point. The status, or -ESTALE: it had gone on before. */
int tic_snapshot_end_point(struct tic_snapshot *snapshot, int status);
/* A line of a commit point is committed. */
void tic_snapshot_note_point_line(struct tic_snapshot *snapshot);
/* Frees rows that nothing refers to any more, if there may be enough of them. committed: the cut
 * whose line was committed; 0: none was. */
void tic_snapshot_sweep(struct tic_snapshot *snapshot, uint64_t committed);
/* Before a cut: moves values out of segments that the store wants to remove; some of them. */
void tic_snapshot_move_values(struct tic_snapshot *snapshot);
/* One whole checkpoint: 0, 1 when there was nothing new, -ECANCELED when stopped, -errno. */
int tic_checkpoint_run(struct tic_snapshot *snapshot);
