/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An adaptive period: chosen again after each checkpoint, from what checkpoints cost by then. The
 * model is that of coordinated checkpoints (Fialho 2011, eq. 3.7): one process, whose fault stops
 * everything. Caller synchronises. */
#pragma once

#include "interval/models.h"

/* The period, s, until a checkpoint was measured; but no longer than the bound on recovery and this
 * share of the MTBF, as most runs are to come to a second checkpoint. */
#define TIC_ADAPTIVE_FIRST 10.0
#define TIC_ADAPTIVE_FIRST_SHARE 0.1
/* The shortest interval that is chosen, s. Shorter ones gain nothing: starting a program again
 * takes as long. */
#define TIC_ADAPTIVE_LEAST 0.1

/* One checkpoint whose values are saved while the program runs. Seconds; of threads: sums. */
struct tic_adaptive_sample {
    double held;         /* workers waited for it: copy on write */
    unsigned workers;    /* > 0 */
    double main_held;    /* main() waited for it: copy on write */
    double processor;    /* it took of the processors what tasks would have had meanwhile */
    unsigned processors; /* > 0 */
    double duration;     /* from its begin to the commit */
    double latency;      /* from the cut to the commit */
};

/* Of the checkpoints of a run, the newest of which counts half. */
struct tic_adaptive_measured {
    unsigned long checkpoints; /* 0: the rest means nothing */
    double t_c;                /* s, >= 0: cost to the program */
    double t_l;                /* s, >= 0: latency */
};

/* What the user says. */
struct tic_adaptive_bounds {
    double mtbf;         /* s, > 0 */
    double max_recovery; /* s; 0: no bound */
    double max_overhead; /* share, 0 to 1; 0: no bound */
};

/* Cost of one checkpoint to the program, s: what main() waited, what a worker waited on average,
 * and the mean share of the processors' time that the checkpoint took. From 0 to `duration`. */
double tic_adaptive_cost(const struct tic_adaptive_sample *sample);

/* Adds a checkpoint. What is no number counts as 0. A time of more than twice the mean and `period`
 * counts as that: the process, or the machine, was stopped meanwhile. */
void tic_adaptive_measure(struct tic_adaptive_measured *measured,
                          const struct tic_adaptive_sample *sample, double period);

/* The input of the models. A fault costs the latency beside the work of an interval: what was
 * computed between the cut and the commit is lost with it. */
struct tic_interval_costs tic_adaptive_costs(const struct tic_adaptive_measured *measured,
                                             const struct tic_adaptive_bounds *bounds);

/* Time from the begin of a checkpoint to the begin of the next one, s: the interval of the model
 * and t_c. *rule tells which bound it comes from. Without a measurement the first period, with the
 * rule of an optimum. */
double tic_adaptive_period(const struct tic_adaptive_measured *measured,
                           const struct tic_adaptive_bounds *bounds, enum tic_interval_rule *rule);
