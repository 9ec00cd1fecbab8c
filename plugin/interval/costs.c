/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Costs of checkpoints, faults and message logging: the input of all interval models. */
#include "interval/costs.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static bool is_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

static bool is_positive(double seconds)
{
    return isfinite(seconds) && seconds > 0;
}

static bool is_phi(double phi, unsigned long processes)
{
    return processes > 0 ? is_time(phi) : is_positive(phi);
}

int tic_interval_costs_check(const struct tic_interval_costs *costs, const char **field)
{
    const struct {
        bool good;
        const char *name;
    } rules[] = {
        {is_time(costs->t_c), "t_c"},
        {is_time(costs->t_l), "t_l"},
        {is_time(costs->t_d), "t_d"},
        {is_positive(costs->mtbf), "mtbf"},
        {is_phi(costs->phi, costs->processes), "phi"},
        {is_time(costs->log_rate) && costs->log_rate <= 1, "log_rate"},
        {is_time(costs->t_replay), "t_replay"},
        {is_positive(costs->least), "least"},
        {is_time(costs->max_recovery), "max_recovery"},
        {is_time(costs->max_overhead) && costs->max_overhead <= 1, "max_overhead"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (!rules[i].good) {
            *field = rules[i].name;
            return -EINVAL;
        }
    return 0;
}

double tic_interval_log_time(const struct tic_interval_costs *costs)
{
    return costs->log_rate * costs->mtbf;
}
