/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All interval models behind one interface, and the choice of an interval within its limits. */
#include "interval/models.h"

#include <math.h>

#include "interval/classic.h"
#include "interval/fialho.h"

static const struct model {
    double (*optimum)(const struct tic_interval_costs *costs);
    double (*wall)(const struct tic_interval_costs *costs, double interval, double work);
    bool replays;
} models[] = {
#define MODEL(ID, name, optimum, wall, replays, source)                                            \
    {tic_interval_##optimum, tic_interval_##wall, replays},
#include "interval/models.def"
#undef MODEL
};

const char *const tic_interval_names[] = {
#define MODEL(ID, name, optimum, wall, replays, source) name,
#include "interval/models.def"
#undef MODEL
};

const char *const tic_interval_sources[] = {
#define MODEL(ID, name, optimum, wall, replays, source) source,
#include "interval/models.def"
#undef MODEL
};

double tic_interval_longest(enum tic_interval_model model, const struct tic_interval_costs *costs)
{
    double fixed = costs->t_l + costs->t_d + (models[model].replays ? costs->t_replay : 0);

    return costs->max_recovery > 0 ? costs->max_recovery - fixed : INFINITY;
}

double tic_interval_shortest(const struct tic_interval_costs *costs)
{
    double share = costs->max_overhead;

    return share > 0 ? costs->t_c * (1 - share) / share : 0;
}

struct tic_interval_choice tic_interval_choose(enum tic_interval_model model,
                                               const struct tic_interval_costs *costs)
{
    double optimum = models[model].optimum(costs);
    double longest = tic_interval_longest(model, costs);
    double shortest = tic_interval_shortest(costs);

    if (longest < costs->least)
        return (struct tic_interval_choice){costs->least, TIC_INTERVAL_UNMET};
    if (shortest > longest)
        return (struct tic_interval_choice){longest, TIC_INTERVAL_CONFLICT};
    if (optimum > longest)
        return (struct tic_interval_choice){longest, TIC_INTERVAL_CAPPED};
    if (shortest > costs->least && !(optimum >= shortest))
        return (struct tic_interval_choice){shortest, TIC_INTERVAL_STRETCHED};
    if (isnan(optimum) || optimum < costs->least)
        return (struct tic_interval_choice){costs->least, TIC_INTERVAL_FLOOR};
    return (struct tic_interval_choice){optimum, TIC_INTERVAL_OPTIMUM};
}

double tic_interval_wall(enum tic_interval_model model, const struct tic_interval_costs *costs,
                         double interval, double work)
{
    return models[model].wall(costs, interval, work);
}

double tic_interval_waste(double wall, double work)
{
    return 1 - work / wall;
}

bool tic_interval_prefers_uncoordinated(const struct tic_interval_costs *costs)
{
    double together = tic_interval_choose(TIC_INTERVAL_COORDINATED, costs).interval;
    double apart = tic_interval_choose(TIC_INTERVAL_UNCOORDINATED, costs).interval;

    return tic_interval_uncoordinated_overhead(costs, apart) <
           tic_interval_coordinated_overhead(costs, together);
}
