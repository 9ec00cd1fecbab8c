/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The models of Fialho 2011 for coordinated and uncoordinated checkpoints. */
#include "interval/fialho.h"

#include <math.h>

#include "interval/phi.h"

static double phi_of(const struct tic_interval_costs *costs)
{
    return tic_interval_phi_clamp(costs->phi, costs->processes);
}

static struct tic_interval_costs without_log(const struct tic_interval_costs *costs)
{
    struct tic_interval_costs serial = *costs;

    serial.phi = 1;
    serial.log_rate = 0;
    serial.t_replay = 0;
    return serial;
}

double tic_interval_coordinated(const struct tic_interval_costs *costs)
{
    double t_c = costs->t_c;
    double radicand = t_c * (t_c - 2 * costs->t_d - 2 * costs->t_l + 2 * costs->mtbf);

    return sqrt(radicand) - t_c;
}

double tic_interval_uncoordinated(const struct tic_interval_costs *costs)
{
    double t_c = costs->t_c;
    double fixed = costs->t_d + costs->t_l + costs->t_replay;

    return sqrt(t_c * (t_c + 2 * costs->mtbf - 2 * fixed) / phi_of(costs)) - t_c;
}

/* Eq. 3.13 with `rework`, s, as the time to compute again what a fault has cost. The number of
 * checkpoints comes from the mean rework in any case. */
static double overhead(const struct tic_interval_costs *costs, double interval, double rework)
{
    double fixed = costs->t_d + costs->t_l + costs->t_replay;
    double computing = costs->mtbf - (fixed + interval / 2);
    double checkpoints = computing / (interval + costs->t_c);

    if (computing < 0)
        return NAN;
    return phi_of(costs) * (fixed + rework) + checkpoints * costs->t_c +
           tic_interval_log_time(costs);
}

double tic_interval_uncoordinated_overhead(const struct tic_interval_costs *costs, double interval)
{
    return overhead(costs, interval, interval / 2);
}

double tic_interval_uncoordinated_bound(const struct tic_interval_costs *costs, double interval)
{
    return overhead(costs, interval, interval);
}

double tic_interval_coordinated_overhead(const struct tic_interval_costs *costs, double interval)
{
    struct tic_interval_costs serial = without_log(costs);

    return overhead(&serial, interval, interval / 2);
}

double tic_interval_coordinated_wall(const struct tic_interval_costs *costs, double interval,
                                     double work)
{
    return work * (1 + tic_interval_coordinated_overhead(costs, interval) / costs->mtbf);
}

double tic_interval_uncoordinated_wall(const struct tic_interval_costs *costs, double interval,
                                       double work)
{
    return work * (1 + tic_interval_uncoordinated_overhead(costs, interval) / costs->mtbf);
}
