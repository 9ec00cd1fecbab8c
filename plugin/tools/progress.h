/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a program has come that was killed: what its directory of recovery lines holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tic_progress {
    uint64_t line;            /* number of the newest line that can be read, or 0: none */
    uint64_t tasks_done;      /* in it */
    uint64_t tasks_submitted; /* by main(), when it was taken */
    uint64_t results;         /* of tasks, in the event log; 0 unless a restart may use them */
};

/* What the directory holds; nothing if it cannot be read. uses_results: a restart uses results of
 * tasks that ended after the line. No run may use the directory. */
struct tic_progress tic_progress_read(const char *directory, bool uses_results);
