/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The beacon: memory that `starpu-tic run` shares with the program that it supervises. The program
 * shows there where its recovery lines are and which tasks run, and the memory outlives it. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* "DESCRIPTOR INODE PROCESS" of the memory, in the supervisor and in what inherits it. It is no
 * setting: users do not give it. */
#define TIC_BEACON_VARIABLE "TIC_BEACON"

enum { TIC_BEACON_FORMAT = 4, TIC_BEACON_TASKS = 256, TIC_BEACON_NAME = 56 };

/* A task of others than main(): it has no number that would be the same in the next run. */
#define TIC_BEACON_NO_NUMBER UINT64_MAX

struct tic_beacon_task {
    _Atomic uint64_t number; /* of the submission + 1, or TIC_BEACON_NO_NUMBER; 0: none runs. Its
                                worker writes it after the name: release */
    char name[TIC_BEACON_NAME];
};

/* A thread of the program writes them twice in a second; relaxed, as nothing follows from them. */
struct tic_beacon_counts {
    _Atomic uint64_t submitted;        /* tasks, so far */
    _Atomic uint64_t executed;         /* or given their results */
    _Atomic uint64_t skipped, to_skip; /* as a recovery line has them as done */
    _Atomic uint64_t checkpoints;      /* of this run */
    _Atomic uint64_t line_ns, took_ns; /* of the last one: CLOCK_MONOTONIC */
};

struct tic_beacon {
    uint64_t format;          /* immutable once the supervisor has made it */
    _Atomic bool is_guarded;  /* the supervisor has a lock of the file (fcntl) while it lives, and
                                 clears this before it ends by itself */
    _Atomic int32_t process;  /* whose it is, or 0 */
    _Atomic bool is_rank;     /* it is one of several, whose launcher ends all when it ends */
    _Atomic int32_t stopped;  /* the exit status with which a signal is stopping it, or 0 */
    char directory[PATH_MAX]; /* absolute; that process writes it once, the supervisor reads it when
                                 the process is dead */
    struct tic_beacon_counts counts;
    struct tic_beacon_task running[TIC_BEACON_TASKS]; /* by slot, of the first ones */
};

/* The one of this process, or NULL if nobody supervises it: a program that the supervised one
 * starts meanwhile has none. `directory`, an absolute path, is where its recovery lines are. */
struct tic_beacon *tic_beacon_take(const char *directory);

/* The descriptor of the beacon that this process has inherited, or -1. */
int tic_beacon_inherited(void);
/* Is there a supervisor that this process is to die with? After tic_beacon_take(), which may find
 * the beacon in the hands of another process. */
bool tic_beacon_is_guarded(void);
/* Was it killed? False where nobody can tell. */
bool tic_beacon_is_orphaned(void);

/* A worker, around a task. */
static inline void tic_beacon_begin(struct tic_beacon *beacon, unsigned slot, uint64_t number,
                                    const char *name)
{
    if (__builtin_expect(slot >= TIC_BEACON_TASKS, 0))
        return;
    struct tic_beacon_task *task = &beacon->running[slot];
    memccpy(task->name, name, '\0', sizeof(task->name) - 1); /* the last byte stays 0 */
    atomic_store_explicit(&task->number, number, memory_order_release);
}
static inline void tic_beacon_end(struct tic_beacon *beacon, unsigned slot)
{
    if (__builtin_expect(slot < TIC_BEACON_TASKS, 1))
        atomic_store_explicit(&beacon->running[slot].number, 0, memory_order_relaxed);
}
