/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Costs of checkpoints, faults and message logging: the input of all interval models. */
#pragma once

/* The symbols are those of L. Fialho, Fault Tolerance Configuration for Uncoordinated Checkpoints,
 * PhD thesis, UAB 2011 ("Fialho 2011" in this folder). */
struct tic_interval_costs {
    double t_c;  /* s, >= 0: stop of the program for one checkpoint, storage included */
    double t_l;  /* s, >= 0: loading of one checkpoint; t_c until it is measured */
    double t_d;  /* s, >= 0: latency of fault detection; half the period of a heartbeat */
    double mtbf; /* s, > 0: mean time between two faults of the whole system (alpha) */
    double phi;  /* 0 to 1: mean share of the processes that one fault stalls */
    unsigned long processes; /* number of processes, for the lower bound of phi; 0: unknown */
    double log_rate;         /* 0 to 1: share of elapsed time that message logging takes */
    double t_replay;         /* s, >= 0: handling of the message log after one fault (Delta_lr) */
    double least;            /* s, > 0: shortest interval, such as the longest task */
    double max_recovery;     /* s, > 0: bound on the recovery time of one fault; 0: no bound */
    double max_overhead;     /* 0 to 1, > 0: bound on t_c as a share of the period; 0: no bound */
};

/* Default of `least`: a millisecond. It makes intervals positive where checkpoints cost nothing. */
#define TIC_INTERVAL_LEAST 1e-3

/* Checks the range of each field. 0; or -EINVAL, and *field is the name of the first field that is
 * out of its range, not finite, or not a number. phi 0 needs `processes`. phi above 1 is valid: a
 * count of stalled processes may exceed the number of processes, and the models use 1. */
int tic_interval_costs_check(const struct tic_interval_costs *costs, const char **field);

/* Time that message logging adds to message delivery between two faults, in seconds per MTBF:
 * Delta_lp = log_rate * mtbf (Fialho 2011, section 3.4, with Delta_lp per alpha). */
double tic_interval_log_time(const struct tic_interval_costs *costs);
