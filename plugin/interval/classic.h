/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The models of Young, Gropp and Daly, in the form that Fialho 2011 compares them in (tables 3.1
 * and 3.2). None of them has a term for t_d, message logging or phi.
 *
 * An interval is useful work in seconds, from the end of a checkpoint to the begin of the next one:
 * t_c is not part of it. A wall time is the expected run time in seconds, with checkpoints and
 * faults, of a program that needs `work` seconds without both.
 *
 * Sources: J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9),
 * 1974; W. Gropp and E. Lusk, Fault tolerance in message passing interface programs, IJHPCA 18(3),
 * 2004; J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps,
 * FGCS 22(3), 2006. */
#pragma once

#include "interval/costs.h"

/* Optimum of Young, and of Gropp: sqrt(2 mtbf t_c), s (table 3.1). 0 where t_c is 0. */
double tic_interval_young(const struct tic_interval_costs *costs);

/* First-order optimum of Daly: sqrt(2 mtbf t_c) - t_c, s (table 3.1). Not positive where t_c is 0
 * or t_c >= 2 mtbf. */
double tic_interval_daly(const struct tic_interval_costs *costs);

/* Loss per fault by Young: mtbf - interval / (e^((interval + t_c) / mtbf) - 1), s (table 3.2, where
 * the sign of the exponential term is wrong as printed). interval > 0. */
double tic_interval_young_loss(const struct tic_interval_costs *costs, double interval);

/* Wall time by Young, with the number of faults of a run that took `measured` seconds:
 * work + measured / mtbf * loss, s. Fialho 2011, tables 4.6 and 4.7, uses it. interval > 0. */
double tic_interval_young_wall_of(const struct tic_interval_costs *costs, double interval,
                                  double work, double measured);

/* Wall time by Young without a measurement: the fixed point of the function above, where the run
 * that is predicted has the faults. work * mtbf / interval * (e^((interval + t_c) / mtbf) - 1), s.
 * Infinity where the exponential overflows. interval > 0. */
double tic_interval_young_wall(const struct tic_interval_costs *costs, double interval,
                               double work);

/* Wall time by Gropp: work / interval * (t_c + interval + (interval t_l + interval^2 / 2) / mtbf),
 * s (table 3.2). interval > 0. */
double tic_interval_gropp_wall(const struct tic_interval_costs *costs, double interval,
                               double work);

/* Wall time by Daly: mtbf e^(t_l / mtbf) (e^((interval + t_c) / mtbf) - 1)
 * (work / interval - t_c / (interval + t_c)), s (table 3.2). interval > 0. NaN where work <
 * interval: such a run takes no checkpoint, and the formula gives less than the work. Infinity
 * where an exponential overflows. */
double tic_interval_daly_wall(const struct tic_interval_costs *costs, double interval, double work);
