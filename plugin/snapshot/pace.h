/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pace of checkpoints: what each one costs the program, and the period that is chosen from that
 * (STARPU_TIC_PERIOD=auto). Checkpoint thread only, but for what is atomic. Knows nothing of the
 * checkpoint thread, and no clock. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/settings.h"
#include "interval/adaptive.h"

/* Nanoseconds: the time, and sums so far. */
struct tic_pace_reading {
    uint64_t now;       /* CLOCK_MONOTONIC */
    uint64_t held;      /* workers were held by copy on write, all together */
    uint64_t main_held; /* main() was held by saving what a cut needed */
    uint64_t processor; /* threads of ours had processors */
    uint64_t others;    /* all other threads of the process had processors */
};

struct tic_pace {
    bool adaptive;                     /* immutable after start; false: the period is fixed */
    struct tic_adaptive_bounds bounds; /* immutable after start */
    double told;                       /* seconds: the period of the last message about it */
    bool told_missed;                  /* a message has said that a bound is not met */
    struct tic_adaptive_measured measured;
    _Atomic uint64_t main_held_ns; /* main_held of readings; relaxed; the owner thread adds to it */
    struct tic_pace_reading begun; /* when the last checkpoint began */
    struct tic_pace_reading ended; /* when it ended; time 0: there was none */
    double took;                   /* seconds of a checkpoint, of late */
    _Atomic uint64_t last_took_ns; /* by the last one that succeeded; relaxed: a statistic */
    _Atomic uint64_t cost_ns, latency_ns; /* of `measured`; 0: not known; relaxed: statistics */
};

/* Takes the user's wishes. The period to begin with, s. Before the checkpoint thread starts. */
double tic_pace_init(struct tic_pace *pace, const struct tic_settings *settings);
/* What the run before has measured. Before the checkpoint thread starts. */
void tic_pace_resume(struct tic_pace *pace, uint64_t cost_ns, uint64_t latency_ns);
void tic_pace_begin(struct tic_pace *pace, const struct tic_pace_reading *reading);
/* The checkpoint has committed a line. The first one of a run does not change what the run before
 * has measured: the program has just begun. cut_ns: when its cut was taken; waited_ns: for how long
 * it has waited for tasks of the cut; period: seconds. */
void tic_pace_end(struct tic_pace *pace, const struct tic_pace_reading *reading, uint64_t cut_ns,
                  uint64_t waited_ns, double period, unsigned workers, unsigned processors);
/* Seconds until the next checkpoint, when the last one began `since` seconds ago and one takes
 * `took` of late. It shall be committed one period after the cut before, so that a crash costs no
 * more than a period and the longest task; but where that cannot be, the disk gets a rest. */
double tic_checkpoint_wait(double period, double took, double since);
/* The period from now on, s, if it was `period` so far. Tells when it differs much, or a bound is
 * not met. */
double tic_pace_choose(struct tic_pace *pace, double period);
