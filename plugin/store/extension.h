/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of the event log by which a restart extends a recovery line: which tasks have ended
 * since, with what they wrote, and which tasks their kernels have submitted. They are used together
 * or not at all, as one later cut: recovery/extend.h tells which. */
#pragma once

#include "store/eventlog.h"
#include "store/line.h"

enum { TIC_ENDED_OUTPUTS = 8, TIC_ENDED_WORDS = 9 + 6 * TIC_ENDED_OUTPUTS, TIC_BEGUN_WORDS = 4 };

/* In the place of a segment: a later write had begun before the value was saved. */
#define TIC_ENDED_REPLACED UINT64_MAX

/* What the task wrote. */
struct tic_ended_output {
    uint64_t id; /* of the handle */
    uint64_t version;
    uint64_t bytes;
    uint64_t checksum; /* XXH3-64 */
    uint64_t segment;
    uint64_t offset; /* in that file */
};

/* A task has ended. Ticks count begins and ends of tasks of one run: what a task depends on has
 * ended at an earlier tick than it began, but for writes that commute, whose versions tell. */
struct tic_ended {
    uint64_t key;          /* of the task: its number if main() has submitted it, or its identity */
    uint64_t run;          /* runs of this store, up to this one */
    uint64_t began, ended; /* ticks */
    uint64_t position;     /* where main() was when it began (snapshot/extension.h) */
    uint64_t epoch;        /* in which it began */
    uint64_t workers;      /* victim + 1, or 0: not stolen << 32 | who executed it */
    uint64_t started;      /* nanoseconds since 1970 UTC */
    uint64_t count;        /* of outputs; 0: a restart must execute it again */
    struct tic_ended_output outputs[TIC_ENDED_OUTPUTS];
};

/* A kernel has submitted a task that a restart submits in its place (spawn.h). */
struct tic_submitted {
    uint64_t run, epoch;            /* of the task whose kernel it was, and: */
    uint64_t parent;                /* its key */
    uint64_t order;                 /* of submission, in its run */
    struct tic_line_kept task;      /* but for the numbers of functions, whose names follow */
    const char *codelet, *callback; /* NULL: no callback */
    const struct tic_line_buffer *buffers;
    const unsigned char *bytes; /* arguments */
};

/* The words of a record, at most TIC_ENDED_WORDS; how many. */
size_t tic_ended_encode(const struct tic_ended *ended, uint64_t *words);
/* False: it is no such record. */
bool tic_ended_decode(const struct tic_log_record *record, struct tic_ended *ended);

/* At most TIC_LOG_MOST_WORDS; 0: they do not suffice. */
size_t tic_submitted_encode(const struct tic_submitted *submitted, uint64_t *words);
/* False: it is no such record. What it points to lies in the words of the record. */
bool tic_submitted_decode(const struct tic_log_record *record, struct tic_submitted *submitted);
