/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the checkpoints of a run cost, as its recovery lines or its statistics tell. */
#ifndef TIC_TOOLS_MEASURED_H
#define TIC_TOOLS_MEASURED_H

#include <stdint.h>

struct tic_measured {
    uint64_t line;  /* number of the recovery line that tells; 0: the statistics do */
    double cost;    /* s, >= 0: of a checkpoint to the program */
    double latency; /* s, > 0: from cut to commit */
    double period;  /* s, > 0: between checkpoints, as it was set or chosen */
    double between; /* s, > 0: the time between two cuts that this means */
};

/* path: a directory of recovery lines, or a file of statistics (STARPU_TIC_STATS). 0, or -1 after a
 * message. */
int tic_measured_read(const char *path, struct tic_measured *measured);

#endif
