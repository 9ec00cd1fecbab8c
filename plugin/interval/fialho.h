/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The models of Fialho 2011: coordinated checkpoints (or one process), and uncoordinated
 * checkpoints with a message log, where phi tells how far a fault stalls other processes.
 *
 * Intervals and wall times are those of interval/classic.h. An overhead is time in seconds lost per
 * MTBF. The coordinated model has no message log: it ignores phi, log_rate and t_replay.
 *
 * The models hold where the recovery time of a fault, half an interval included (eq. 3.11), is no
 * longer than the MTBF. Elsewhere the number of checkpoints between two faults (eq. 3.4) is
 * negative, and overheads and wall times are NaN. A phi below about t_c / (2 mtbf) makes even the
 * optimum (eq. 3.15) that long: the printed equations then give less than no overhead. */
#pragma once

#include "interval/costs.h"

/* Optimum of coordinated checkpoints, s (eq. 3.7; eq. 3.8 is the case t_d = 0, t_l = t_c). Not
 * positive, or NaN, where mtbf <= t_d + t_l. */
double tic_interval_coordinated(const struct tic_interval_costs *costs);

/* Optimum of uncoordinated checkpoints, s (eq. 3.15; eq. 3.16 is the case t_d = 0, t_l = t_c). phi
 * is clamped as in interval/phi.h. Not positive, or NaN, where the MTBF is too short for the
 * costs: with phi 1 where mtbf <= t_d + t_l + t_replay. */
double tic_interval_uncoordinated(const struct tic_interval_costs *costs);

/* Overheads, s per MTBF (eq. 3.6 and 3.14). interval >= 0, and interval + t_c > 0. */
double tic_interval_coordinated_overhead(const struct tic_interval_costs *costs, double interval);
double tic_interval_uncoordinated_overhead(const struct tic_interval_costs *costs, double interval);

/* Overhead of uncoordinated checkpoints if each fault costs a whole interval, s per MTBF (eq.
 * 3.23). A bound, not a mean: its number of checkpoints is still that of the mean loss, half an
 * interval. */
double tic_interval_uncoordinated_bound(const struct tic_interval_costs *costs, double interval);

/* Wall times, s: work * (1 + overhead / mtbf) (eq. 3.10 and 3.20). */
double tic_interval_coordinated_wall(const struct tic_interval_costs *costs, double interval,
                                     double work);
double tic_interval_uncoordinated_wall(const struct tic_interval_costs *costs, double interval,
                                       double work);
