/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/waste.h"

#include <math.h>

#include "tools/json_text.h"

enum { SAMPLES = 160 };
#define AROUND 8.0 /* how far curves go to both sides of the periods that are marked */

struct curves {
    const struct tic_interval_costs *costs;
    double work, period;                           /* s */
    double best[TIC_INTERVAL_MODELS], first, last; /* periods, s */
};

static json_t *waste_at(const struct curves *curves, int model, double period)
{
    double interval = period - curves->costs->t_c;
    double wall =
        interval > 0 ? tic_interval_wall(model, curves->costs, interval, curves->work) : NAN;

    return tic_json_real(tic_interval_waste(wall, curves->work));
}

static void choose_periods(struct curves *curves)
{
    double least = curves->costs->t_c * 1.0001;

    curves->first = curves->period > 0 ? curves->period : INFINITY;
    curves->last = curves->period;
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        curves->best[i] = tic_interval_choose(i, curves->costs).interval + curves->costs->t_c;
        curves->first = fmin(curves->first, curves->best[i]);
        curves->last = fmax(curves->last, curves->best[i]);
    }
    curves->first = fmax(curves->first / AROUND, least);
    curves->last *= AROUND;
}

static double sample(const struct curves *curves, int i)
{
    return curves->first * pow(curves->last / curves->first, (double)i / SAMPLES);
}

static json_t *model_json(const struct curves *curves, int model)
{
    json_t *wastes = json_array();

    for (int i = 0; i <= SAMPLES; i++)
        json_array_append_new(wastes, waste_at(curves, model, sample(curves, i)));
    return json_pack("{s:s, s:f, s:o, s:o, s:o}", "name", tic_interval_names[model], "period",
                     curves->best[model], "waste", waste_at(curves, model, curves->best[model]),
                     "at_period", waste_at(curves, model, curves->period), "wastes", wastes);
}

json_t *tic_waste_json(const struct tic_interval_costs *costs, double work, double period)
{
    struct curves curves = {.costs = costs, .work = work, .period = period};
    json_t *periods = json_array(), *models = json_array();

    choose_periods(&curves);
    for (int i = 0; i <= SAMPLES; i++)
        json_array_append_new(periods, json_real(sample(&curves, i)));
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++)
        json_array_append_new(models, model_json(&curves, i));
    return json_pack("{s:o, s:o, s:o}", "periods", periods, "period",
                     period > 0 ? json_real(period) : json_null(), "models", models);
}
