/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the event log tells of main() beyond the line: tasks and what they access, and where main()
 * itself accesses data. Plain data; caller synchronises. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tic_log_record;

struct tic_known_task {
    uint64_t sequence, order; /* of its record in the log */
    uint64_t first;           /* in accesses */
    uint32_t count;
};
struct tic_known_access {
    uint64_t id;   /* of the handle */
    uint32_t mode; /* as StarPU numbers it */
};
/* main() accesses data when it has submitted so many tasks. */
struct tic_known_use {
    uint64_t position, id;
    bool writes;
};

struct tic_known {
    struct tic_known_task *tasks;
    unsigned long task_count, task_capacity;
    struct tic_known_access *accesses;
    unsigned long access_count, access_capacity;
    struct tic_known_use *uses;
    unsigned long use_count, use_capacity;
};

/* A record of a created task, or of an access; others tell nothing. 0 or -ENOMEM. */
int tic_known_note(struct tic_known *known, const struct tic_log_record *record, uint64_t order);
/* Each task once, as it was created last, in program order; accesses of main() by position. */
void tic_known_sort(struct tic_known *known);
void tic_known_clear(struct tic_known *known);
