/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Expected waste against the period, by each model of the interval: the numbers behind pictures. */
#pragma once

#include <jansson.h>

#include "interval/models.h"

/* costs: checked; work > 0, s; period: marked, too, s, or 0. Members are periods (s, ascending by
 * their logarithm), period (null: none), and models: name, period (its best), waste (then),
 * at_period (the waste at `period`), wastes (at each of the periods). A waste is null where the
 * model does not hold. */
json_t *tic_waste_json(const struct tic_interval_costs *costs, double work, double period);
