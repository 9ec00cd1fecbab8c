/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An adaptive period: chosen again after each checkpoint, from what checkpoints cost by then. */
#include "interval/adaptive.h"

#include <math.h>

/* NaN counts as `low`. */
static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

static double share_of(double seconds, unsigned count)
{
    return seconds / (count > 0 ? count : 1);
}

double tic_adaptive_cost(const struct tic_adaptive_sample *sample)
{
    double cost = sample->main_held + share_of(sample->held, sample->workers) +
                  share_of(sample->processor, sample->processors);

    return clamp(cost, 0, fmax(sample->duration, 0));
}

static double mean(double before, double now, unsigned long count, double period)
{
    if (count == 0)
        return clamp(now, 0, HUGE_VAL);
    return (before + clamp(now, 0, 2 * before + period)) / 2;
}

void tic_adaptive_measure(struct tic_adaptive_measured *measured,
                          const struct tic_adaptive_sample *sample, double period)
{
    unsigned long count = measured->checkpoints;

    measured->t_c = mean(measured->t_c, tic_adaptive_cost(sample), count, period);
    measured->t_l = mean(measured->t_l, sample->latency, count, period);
    measured->checkpoints++;
}

struct tic_interval_costs tic_adaptive_costs(const struct tic_adaptive_measured *measured,
                                             const struct tic_adaptive_bounds *bounds)
{
    return (struct tic_interval_costs){.t_c = measured->t_c,
                                       .t_l = measured->t_l,
                                       .mtbf = bounds->mtbf,
                                       .phi = 1,
                                       .least = TIC_ADAPTIVE_LEAST,
                                       .max_recovery = bounds->max_recovery,
                                       .max_overhead = bounds->max_overhead};
}

static double first_period(const struct tic_adaptive_bounds *bounds)
{
    double most = fmin(TIC_ADAPTIVE_FIRST, TIC_ADAPTIVE_FIRST_SHARE * bounds->mtbf);

    if (bounds->max_recovery > 0)
        most = fmin(most, bounds->max_recovery);
    return fmax(most, TIC_ADAPTIVE_LEAST);
}

double tic_adaptive_period(const struct tic_adaptive_measured *measured,
                           const struct tic_adaptive_bounds *bounds, enum tic_interval_rule *rule)
{
    struct tic_interval_costs costs = tic_adaptive_costs(measured, bounds);
    struct tic_interval_choice choice = {first_period(bounds), TIC_INTERVAL_OPTIMUM};

    if (measured->checkpoints > 0)
        choice = tic_interval_choose(TIC_INTERVAL_COORDINATED, &costs);
    *rule = choice.rule;
    return choice.interval + (measured->checkpoints > 0 ? costs.t_c : 0);
}
