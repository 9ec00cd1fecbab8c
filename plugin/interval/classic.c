/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The models of Young, Gropp and Daly. */
#include "interval/classic.h"

#include <math.h>

/* e^((interval + t_c) / mtbf) - 1: expm1 keeps its digits where the MTBF is long. */
static double growth(const struct tic_interval_costs *costs, double interval)
{
    return expm1((interval + costs->t_c) / costs->mtbf);
}

double tic_interval_young(const struct tic_interval_costs *costs)
{
    return sqrt(2 * costs->mtbf * costs->t_c);
}

double tic_interval_daly(const struct tic_interval_costs *costs)
{
    return tic_interval_young(costs) - costs->t_c;
}

double tic_interval_young_loss(const struct tic_interval_costs *costs, double interval)
{
    return costs->mtbf - interval / growth(costs, interval);
}

double tic_interval_young_wall_of(const struct tic_interval_costs *costs, double interval,
                                  double work, double measured)
{
    return work + measured / costs->mtbf * tic_interval_young_loss(costs, interval);
}

double tic_interval_young_wall(const struct tic_interval_costs *costs, double interval, double work)
{
    return work * costs->mtbf / interval * growth(costs, interval);
}

double tic_interval_gropp_wall(const struct tic_interval_costs *costs, double interval, double work)
{
    double per_fault = interval * costs->t_l + interval * interval / 2;

    return work / interval * (costs->t_c + interval + per_fault / costs->mtbf);
}

double tic_interval_daly_wall(const struct tic_interval_costs *costs, double interval, double work)
{
    double segments = work / interval - costs->t_c / (interval + costs->t_c);

    if (work < interval)
        return NAN;
    return costs->mtbf * exp(costs->t_l / costs->mtbf) * growth(costs, interval) * segments;
}
