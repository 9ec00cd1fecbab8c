/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trace (STARPU_TIC_TRACE): what happened when, for `starpu-tic report`. A file of JSON
 * objects, a line each, to which each run of a program appends. Workers put fixed records into
 * memory of their own, and a thread of ours writes them: nobody waits for the file, and where the
 * memory is full records are left out and counted. What a SIGKILL may cost are the last
 * TIC_TRACE_PAUSE seconds. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TIC_TRACE_PAUSE 0.1
enum { TIC_TRACE_SLOTS = 256, TIC_TRACE_NAME = 32, TIC_TRACE_RECORDS = 16384 };
/* Tasks and stalls are left out of a file that has become so large, in bytes. */
#define TIC_TRACE_MOST (UINT64_C(64) << 20)
/* Of a task that main() has not submitted. */
#define TIC_TRACE_NO_NUMBER UINT64_MAX

extern _Atomic bool tic_trace_on; /* relaxed: what follows is only that records are put, or not */

/* It costs one branch where there is no trace. */
static inline bool tic_trace_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&tic_trace_on, memory_order_relaxed), 0);
}

/* Begins, once in a process. 0 or -errno. */
int tic_trace_open(const char *path);
/* What was put is to be written now; nobody waits. Any thread. */
void tic_trace_wake(void);
/* Waits until what was put is written, but no longer than two seconds. Any thread. */
void tic_trace_flush(void);

/* ---- a worker; one thread at a time for each slot ---------------------------------------------
 */
/* Of more than TIC_TRACE_SLOTS the ends of tasks are counted as left out. */
/* victim: the worker that the task was stolen from, or -1. */
void tic_trace_begin(unsigned slot, uint64_t number, int victim, const char *name);
void tic_trace_end(unsigned slot);
/* The worker was held by a checkpoint, by CLOCK_MONOTONIC. */
void tic_trace_stall(unsigned slot, uint64_t begin, uint64_t end);

/* ---- what is rare: any thread -----------------------------------------------------------------
 */
/* `members`: those of the object that follow its kind and time, as ", \"line\": %d" makes them. */
void tic_trace_put(const char *kind, const char *members, ...)
    __attribute__((format(printf, 2, 3)));
/* Seconds of the trace at a time of CLOCK_MONOTONIC. */
double tic_trace_time(uint64_t nanoseconds);
/* As it is in quotes of JSON; what is no ASCII becomes '?'. */
void tic_trace_quote(char *quoted, unsigned size, const char *text);

/* Appends an event to a file, for another process than that which runs. 0 or -errno. */
int tic_trace_append(const char *path, const char *kind, const char *members, ...)
    __attribute__((format(printf, 3, 4)));
