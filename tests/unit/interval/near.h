/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comparison of doubles with a tolerance; cmocka compares floats only. Costs that tests start from.
 */
#ifndef TIC_UNIT_INTERVAL_NEAR_H
#define TIC_UNIT_INTERVAL_NEAR_H

#include <math.h>
#include <stdio.h>

#include "interval/costs.h"
#include "lib/testing.h"

#define assert_near(value, expected, tolerance)                                                    \
    tic_assert_near(value, expected, tolerance, #value, __FILE__, __LINE__)

static inline void tic_assert_near(double value, double expected, double tolerance,
                                   const char *what, const char *file, int line)
{
    if (fabs(value - expected) <= tolerance)
        return;
    print_error("%s is %.9g, not %.9g +- %g\n", what, value, expected, tolerance);
    _fail(file, line);
}

/* Tolerances of the published tables: intervals, wall times. */
#define NEAR_INTERVAL 0.01
#define NEAR_WALL 0.5

/* Coordinated checkpoints: all dependencies, no log. Seconds. */
static inline struct tic_interval_costs tic_test_costs(double t_c, double t_l, double t_d,
                                                       double mtbf)
{
    return (struct tic_interval_costs){
        .t_c = t_c, .t_l = t_l, .t_d = t_d, .mtbf = mtbf, .phi = 1, .least = TIC_INTERVAL_LEAST};
}

/* The same with phi and a message log: log_time in seconds per MTBF, t_replay in seconds. */
static inline struct tic_interval_costs tic_test_logged(struct tic_interval_costs costs, double phi,
                                                        double log_time, double t_replay)
{
    costs.phi = phi;
    costs.log_rate = log_time / costs.mtbf;
    costs.t_replay = t_replay;
    return costs;
}

#endif
