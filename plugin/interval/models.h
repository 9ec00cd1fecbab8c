/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All interval models behind one interface, and the choice of an interval within its limits. */
#pragma once

#include <stdbool.h>

#include "interval/costs.h"

enum tic_interval_model {
#define MODEL(ID, name, optimum, wall, replays, source) TIC_INTERVAL_##ID,
#include "interval/models.def"
#undef MODEL
    TIC_INTERVAL_MODELS
};

/* Names and sources of the models, for people. */
extern const char *const tic_interval_names[TIC_INTERVAL_MODELS];
extern const char *const tic_interval_sources[TIC_INTERVAL_MODELS];

/* The rule that an interval comes from. */
enum tic_interval_rule {
    TIC_INTERVAL_OPTIMUM,   /* the optimum of the model */
    TIC_INTERVAL_FLOOR,     /* the optimum is below `least`, or there is none: `least` */
    TIC_INTERVAL_CAPPED,    /* the optimum breaks `max_recovery`: the longest one that does not */
    TIC_INTERVAL_UNMET,     /* no interval of `least` or more meets `max_recovery`: `least` */
    TIC_INTERVAL_STRETCHED, /* the optimum breaks `max_overhead`: the shortest one that does not */
    TIC_INTERVAL_CONFLICT,  /* none meets both bounds: the longest one that meets `max_recovery` */
    TIC_INTERVAL_RULES
};

struct tic_interval_choice {
    double interval; /* s, >= `least`: useful work between two checkpoints */
    enum tic_interval_rule rule;
};

/* The interval that a model advises. The costs have passed tic_interval_costs_check. */
struct tic_interval_choice tic_interval_choose(enum tic_interval_model model,
                                               const struct tic_interval_costs *costs);

/* The longest interval within `max_recovery`, s, if a fault costs a whole interval: max_recovery -
 * t_l - t_d, and less t_replay if the model has a message log (Fialho 2011, eq. 3.22). Infinity
 * without a bound. Zero or negative: nothing meets the bound. */
double tic_interval_longest(enum tic_interval_model model, const struct tic_interval_costs *costs);

/* The shortest interval within `max_overhead`, s, which is a share of interval + t_c: t_c *
 * (1 - max_overhead) / max_overhead. 0 without a bound. */
double tic_interval_shortest(const struct tic_interval_costs *costs);

/* Expected wall time, s, of a program that needs `work` seconds without checkpoints and faults. NaN
 * where the model does not hold (interval/classic.h, interval/fialho.h); infinity where the program
 * is not expected to end. interval > 0. */
double tic_interval_wall(enum tic_interval_model model, const struct tic_interval_costs *costs,
                         double interval, double work);

/* Share of a wall time that is not work, 0 to 1: (wall - work) / wall (Fialho 2011, table 4.6). NaN
 * where `wall` is. */
double tic_interval_waste(double wall, double work);

/* Uncoordinated checkpoints lose less time than coordinated ones, each at the interval of its
 * model, if a checkpoint costs the same with both (Fialho 2011, eq. 3.6 and 3.14). False where
 * one of the models does not hold. */
bool tic_interval_prefers_uncoordinated(const struct tic_interval_costs *costs);
