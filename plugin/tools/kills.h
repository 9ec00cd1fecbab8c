/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a rehearsal kills a program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the runs without a kill told. */
struct tic_kill_counts {
    uint64_t tasks; /* that end in a run */
    uint64_t lines; /* recovery lines, with STARPU_TIC_EVERY */
    uint64_t waits; /* of main(), if there is such a failpoint; else 0 */
};

struct tic_kill {
    const char *point; /* failpoint of the first run */
    uint64_t pass;     /* at which it kills */
    const char *again; /* failpoint of the first resumed run, or NULL */
    uint64_t again_pass;
    bool periodic; /* lines are taken by time, not by tasks */
};

/* Is there a failpoint of this name? */
bool tic_kill_has(const char *point);

/* The kill of this number, 0 for the first one. Equal seeds and counts give equal kills. */
struct tic_kill tic_kill_choose(uint64_t seed, unsigned number,
                                const struct tic_kill_counts *counts);
