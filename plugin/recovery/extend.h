/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line is extended by what the event log tells of tasks that have ended since
 * (snapshot/extension.h): the line and these are one later cut, which is closed under what tasks
 * depend on, or not taken at all. */
#pragma once

#include "store/extension.h"

struct tic_extend_begin {
    uint64_t run, tick;
};

/* A run that began with the line. */
struct tic_extend_run {
    uint64_t run, line;
    uint64_t count; /* of tasks by which it was extended */
};

/* A datum. */
struct tic_extend_value {
    uint64_t id, version;
    const struct tic_ended_output *output; /* NULL: the line has its value */
    size_t by;                             /* its place in `ended` */
};

struct tic_extend_submitted {
    struct tic_submitted what; /* points into words */
    uint64_t *words;
};

/* What the log tells, in any order, and what is chosen of it. */
struct tic_extend {
    struct tic_ended *ended;
    unsigned long ended_count, ended_capacity;
    struct tic_extend_submitted *submitted;
    unsigned long submitted_count, submitted_capacity;
    struct tic_extend_begin *begun;
    unsigned long begun_count, begun_capacity;
    struct tic_extend_run *runs;
    unsigned long run_count, run_capacity;

    /* chosen */
    bool *applied;  /* of each of `ended` */
    size_t count;   /* of these */
    size_t *by_key; /* places in `ended`, by key */
    uint64_t *kept; /* identities of tasks that the line keeps, ascending */
    size_t kept_count;
    struct tic_extend_value *values; /* that tasks have written, ascending id */
    size_t value_count;
};

/* Adds what a record tells. 0 or -ENOMEM. */
int tic_extend_note(struct tic_extend *extend, const struct tic_log_record *record);
/* Chooses the tasks that extend the line, which is complete. A pure function of what was noted. 0
 * or -ENOMEM. */
int tic_extend_choose(struct tic_extend *extend, const struct tic_line *line);
/* Nothing is chosen. */
void tic_extend_give_up(struct tic_extend *extend);
/* Was this task chosen? */
bool tic_extend_has(const struct tic_extend *extend, uint64_t key);
void tic_extend_clear(struct tic_extend *extend);

/* A line that holds what was chosen, but for the values, which get the rows of `rows`, one for each
 * of extend->values that has an output, in their order. It shares what is the same with the other
 * one; free it by tic_extend_drop_line. 0 or -ENOMEM. */
int tic_extend_line(const struct tic_extend *extend, const struct tic_line *line,
                    const struct tic_line_value *rows, struct tic_line *extended);
void tic_extend_drop_line(struct tic_line *extended);
