/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does memory hold what StarPU knows? main() and kernels may write registered memory behind
 * StarPU's back. A line is committed only when the value that it holds of each datum in memory of
 * main() was the content of that memory from before the cut until after all tasks of the cut had
 * ended.
 *
 * - Dirty values are saved before the cut is raised (they settle), those that tasks write meanwhile
 *   are hashed when their tasks end.
 * - After the tasks of the cut have ended, memory is compared with the checksum of its value;
 * whoever is about to change it before that compares it first.
 * - A value that main() could have been writing when it was saved counts only if main() has begun
 *   another operation between the save and the cut: a restart gives values back at the begin of the
 *   operation that main() was in at the cut.
 * - Memory is compared when the callbacks that had begun by the cut have returned: a restart takes
 *   what they write for done.
 *
 * A difference gives up the line, and from then on lines are quiescent: taken while no task runs
 * and main() is inside a call, of the memory as it is. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"
#include "snapshot/sums.h"

struct tic_snapshot;

enum tic_calm {
    TIC_CALM_NO,     /* tasks begin, main() comes and goes */
    TIC_CALM_WANTED, /* a quiescent line is due: main() stays in the next call that waits */
    TIC_CALM_HELD,   /* main() is inside a call and stays there, and nothing begins */
};

/* A callback of the program. Guarded by the graph's lock. */
struct tic_running_callback {
    uint64_t task;  /* key */
    uint64_t epoch; /* in which it began */
    bool nested;    /* inside the call of main() that asked for it */
    bool of_access;
    bool in_main;                              /* on main()'s thread, and in no other callback */
    const struct tic_running_callback *outer;  /* in a call of this one */
    bool listed;                               /* its own thread only */
    struct tic_running_callback *next, **link; /* guarded by the graph's lock */
};

enum { TIC_LOOKS_PERCENT = 1 }; /* of the time, for comparing what nobody declares to write */

struct tic_verify {
    bool looks;       /* main() may look at data after it has waited; immutable after start */
    unsigned percent; /* of the processors' time; 0: nothing is compared; immutable after start */
    _Atomic bool settling;       /* tasks that end hash what they wrote; seq_cst */
    _Atomic uint64_t suspect;    /* where main() was when a value was saved that it may have been
                                    writing; seq_cst */
    _Atomic uint64_t unsure_cut; /* a value of this cut was saved so after it; seq_cst */
    _Atomic bool differs;        /* a difference was found since the cut; seq_cst */
    _Atomic bool quiescent;      /* only quiescent lines are taken; seq_cst */
    _Atomic bool closed;         /* no task and no callback begins; seq_cst */
    struct tic_running_callback *callbacks; /* that run; guarded by the graph's lock */
    enum tic_calm calm;                     /* guarded by the snapshot's lock */
    bool told_calm;                         /* checkpoint thread only: tasks did not end */
    bool told_late;                         /* checkpoint thread only: no line can be taken */
    uint64_t calm_after_ns;       /* checkpoint thread only: no such try before; CLOCK_MONOTONIC */
    _Atomic uint64_t cut_ns;      /* relaxed: when the last cut was taken, CLOCK_MONOTONIC */
    uint64_t exposed_ns;          /* owner thread only: spent on what main() may change */
    struct tic_handle_list list;  /* checkpoint thread only: what is compared */
    uint64_t rest_ns;             /* checkpoint thread only: the last line cost so much that the
                                     next comes no sooner after it */
    struct tic_sums sums;         /* of comparing */
    _Atomic uint64_t differences; /* relaxed: statistics */
    _Atomic uint64_t repeated;    /* relaxed: cuts that were given up as not sure */
};

/* ---- main() and workers ---------------------------------------------------------------------- */
/* The first period begins, now. */
uint64_t tic_verify_begin_period(struct tic_snapshot *snapshot);
/* main() begins, and ends, a call that waits; a quiescent line may hold it there. Owner thread. */
void tic_verify_enter(struct tic_snapshot *snapshot);
void tic_verify_leave(struct tic_snapshot *snapshot);
/* A task or a callback is about to begin while `closed`: waits until it may. Its thread. */
void tic_verify_await_open(struct tic_snapshot *snapshot);
/* The value is saved with this checksum; `calls` of main() before that. Under the handle's lock,
 * before the save is noted. */
void tic_verify_note_saved_locked(struct tic_snapshot *snapshot, struct tic_handle *handle,
                                  const struct tic_saved *saved, uint64_t calls);
/* The task's kernel has ended: hashes what it wrote, while a line settles. On its worker. */
void tic_verify_note_result(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* Compares the memory with the value of the cut before it changes. stale: a part of the memory was
 * written since the value, as another handle. Under the handle's lock. */
void tic_verify_check_locked(struct tic_snapshot *snapshot, struct tic_handle *handle, uint64_t cut,
                             bool stale);

/* Is the saved value what memory holds? Says so if not. No task writes it; under the handle's lock.
 */
bool tic_verify_is_current_locked(struct tic_snapshot *snapshot, struct tic_handle *handle);
/* The same, and a difference is none: what shares the memory may have a later value. */
bool tic_verify_is_same_locked(struct tic_snapshot *snapshot, struct tic_handle *handle);

/* ---- checkpoint thread ----------------------------------------------------------------------- */
/* Lists what is to be compared. 0 or -ENOMEM. */
int tic_verify_list(struct tic_snapshot *snapshot);
/* No line could be taken since then (CLOCK_MONOTONIC): one message if that is long. Checkpoint
 * thread. */
void tic_verify_tell_late(struct tic_snapshot *snapshot, uint64_t since);
/* Waits until main() has begun an operation after the last suspect save. 0 or -ECANCELED. */
int tic_verify_await_operation(struct tic_snapshot *snapshot);
/* Waits until the callbacks that had begun by the cut have returned. 0, -ECANCELED. */
int tic_verify_await_callbacks(struct tic_snapshot *snapshot, uint64_t cut);
/* After the tasks of the cut have ended. 0; -ESTALE: not this time, the cut is to be given up. */
int tic_verify_cut(struct tic_snapshot *snapshot, uint64_t cut);
/* Waits until main() is inside a call and no task runs, and keeps it so. What was changed behind
 * StarPU's back is dirty then. 0; -ECANCELED; -ESTALE: tasks do not end. */
int tic_verify_begin_calm(struct tic_snapshot *snapshot);
/* Has main() stayed? */
bool tic_verify_is_calm(struct tic_snapshot *snapshot);
void tic_verify_end_calm(struct tic_snapshot *snapshot);
/* Seconds that the next line is put off for the sake of `percent`. */
double tic_verify_rest(const struct tic_snapshot *snapshot, double since);
