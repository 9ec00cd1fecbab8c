/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic run` tells of the run under way: a line on a terminal that is written over again
 * and again, or a message now and then. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/beacon.h"

struct tic_ticker {
    bool quiet;             /* nothing is told */
    bool terminal;          /* standard error is one */
    bool drawn;             /* the line is there */
    unsigned long restarts; /* before this run */
    double last_message;    /* seconds of the run */
    double first_seconds;   /* when tasks beyond those skipped were there first; 0: not yet */
    uint64_t first_done;    /* how many tasks were done then */
};

void tic_ticker_begin(struct tic_ticker *ticker, unsigned long restarts);
/* Once in a second. */
void tic_ticker_tick(struct tic_ticker *ticker, const struct tic_beacon *beacon, double seconds);
/* Before anything else is printed: takes the line away. */
void tic_ticker_end(struct tic_ticker *ticker);

/* The line at a time: `seconds` of the run, `now` of CLOCK_MONOTONIC. Empty if nothing is known. */
void tic_ticker_format(struct tic_ticker *ticker, const struct tic_beacon_counts *counts,
                       double seconds, uint64_t now, char *text, size_t size);
