/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages to the user, and the two ways in which a start can be stopped. */
#pragma once

#include <stdbool.h>

#include "base/grow.h"

/* Exit statuses that are ours; everything else is the application's. */
enum tic_exit {
    TIC_EXIT_STOPPED = 75,  /* somebody asked for the end: the next start goes on */
    TIC_EXIT_REFUSED = 78,  /* the start was refused: nothing was changed */
    TIC_EXIT_DIVERGED = 70, /* the replay differs from the recorded run */
    TIC_EXIT_FAILED = 76,   /* a task failed in all its tries: the next start goes on */
    TIC_EXIT_DIFFERS = 79,  /* two executions of a task differ: the next start goes on */
};

enum tic_level {
    TIC_LOG_ERROR = 0,
    TIC_LOG_WARN = 0,
    TIC_LOG_INFO = 1,
    TIC_LOG_DETAIL = 2,
};

void tic_log_set_level(int level);
/* Of several; others than 0 say their number, and only what is wrong. */
void tic_log_set_rank(unsigned rank);

/* Prints one line "starpu-tic: ..." on standard error when level <= the set level. */
void tic_log(enum tic_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints the message and ends the process with the given status, without running exit handlers:
 * StarPU's threads may be alive. Only a restart or a start uses it, and a fresh run under way only
 * if somebody has asked for its end: by a signal, or by asking for what ends it (retries,
 * certification). */
void tic_stop(enum tic_exit status, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* Whatever the level, messages are told to `listener`, too; and tic_stop() calls `flush` at the
 * end. Set before other threads start. */
void tic_log_tell(void (*listener)(int level, const char *text), void (*flush)(void));

/* What the message of a TIC_EXIT_DIVERGED is to end with; `explain` may return "". */
void tic_stop_explain(const char *(*explain)(void));

/* A restart cannot do without this memory, or without what had to be done and may have failed for
 * lack of some: NULL, or false, stops it. */
void *tic_or_stop(void *memory);
void tic_stop_unless(bool done);
