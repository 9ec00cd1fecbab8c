/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that take turns: of all threads of the process one runs at a time, until it waits or
 * yields. The order is a function of the answers of `choose`, so a run can be repeated. The
 * functions of pthread that the plug-in calls are replaced: a wait hands the turn to another
 * thread, and the time is a number that grows when all threads wait. A thread that comes to the
 * failpoint of STARPU_TIC_FAIL is not killed, but yields. */
#ifndef TIC_REPLAY_TURNS_H
#define TIC_REPLAY_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum tic_turn_kind {
    TIC_TURN_MAIN,   /* the thread that calls tic_turns_begin */
    TIC_TURN_WORKER, /* a worker of the fake StarPU */
    TIC_TURN_HELPER, /* a thread of the plug-in: runs before main() and workers, without a choice */
};

struct tic_turn; /* a thread */

#define TIC_TURNS_AGAIN UINT32_MAX

struct tic_turns_rules {
    /* Which of the threads (at least one) goes on. They may be helpers that have yielded.
     * TIC_TURNS_AGAIN: something has changed, by which a helper may go on first. */
    unsigned (*choose)(struct tic_turn *const *able, unsigned count);
    /* No thread can ever go on. Does not return. */
    void (*stuck)(void);
};

/* From now on threads take turns, for the rest of the process. Before, and in a process that never
 * calls this, nothing is replaced. */
void tic_turns_begin(const struct tic_turns_rules *rules);
/* The next thread that this one creates is of this kind. */
void tic_turns_next_kind(enum tic_turn_kind kind);
/* A point where another thread may go on. */
void tic_turns_yield(void);
/* This thread goes on when the condition holds. idle: it is like all others that wait idly. */
void tic_turns_await(bool (*holds)(void *arg), void *arg, bool idle);

/* What each thread does, to standard error. */
void tic_turns_print(void);

enum tic_turn_kind tic_turn_kind(const struct tic_turn *turn);
unsigned tic_turn_number(const struct tic_turn *turn); /* in order of creation; main() is 0 */
bool tic_turn_is_idle(const struct tic_turn *turn);
bool tic_turn_was_last(const struct tic_turn *turn); /* chosen */

#endif
