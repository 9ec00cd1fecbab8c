/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interval models in a report: waste against the period, on logarithmic scales' x. */
#include <math.h>
#include <string.h>

#include "interval/models.h"
#include "tools/page.h"
#include "tools/pictures.h"

enum { HEIGHT = 230, SAMPLES = 200, BOX = 1000 };
#define AROUND 12.0 /* how far the picture goes beside what is marked */
#define ABOVE 3.0

struct chart {
    FILE *out;
    const struct tic_interval_costs *costs;
    double period;      /* the run's, s; 0: not known */
    double first, last; /* s */
    double top;         /* waste */
    double best[TIC_INTERVAL_MODELS];
};

static double waste_at(const struct chart *chart, int model, double period)
{
    double work = chart->costs->mtbf;
    double interval = period - chart->costs->t_c;

    return interval > 0
               ? tic_interval_waste(tic_interval_wall(model, chart->costs, interval, work), work)
               : NAN;
}

static double x_of(const struct chart *chart, double period)
{
    return log(period / chart->first) / log(chart->last / chart->first);
}

static void choose_scales(struct chart *chart)
{
    chart->first = chart->period > 0 ? chart->period : INFINITY;
    chart->last = chart->period;
    chart->top = chart->period > 0 ? waste_at(chart, TIC_INTERVAL_COORDINATED, chart->period) : 0;
    chart->top = isfinite(chart->top) ? chart->top / ABOVE * 1.15 : 0;
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        chart->best[i] = tic_interval_choose(i, chart->costs).interval + chart->costs->t_c;
        double waste = waste_at(chart, i, chart->best[i]);
        chart->first = fmin(chart->first, chart->best[i]);
        chart->last = fmax(chart->last, chart->best[i]);
        chart->top = fmax(chart->top, isfinite(waste) ? waste : 0);
    }
    chart->first = fmax(chart->first / AROUND, chart->costs->t_c * 1.0001);
    chart->last *= AROUND;
    chart->top = fmin(1, fmax(chart->top * ABOVE, 1e-4));
    double step = tic_scale_step(chart->top, 5);
    chart->top = fmin(1, ceil(chart->top / step - 1e-9) * step);
}

static void draw_curve(const struct chart *chart, int model)
{
    bool open = false;

    fprintf(chart->out,
            "<path class=\"s%d\" style=\"stroke-width:%g\" vector-effect="
            "\"non-scaling-stroke\" d=\"",
            model, 4.5 - 0.8 * model);
    for (int i = 0; i <= SAMPLES; i++) {
        double share = (double)i / SAMPLES;
        double waste =
            waste_at(chart, model, chart->first * pow(chart->last / chart->first, share));
        bool shown = isfinite(waste) && waste < 1.5 * chart->top;
        if (shown)
            fprintf(chart->out, "%c%.1f %.1f", open ? 'L' : 'M', BOX * share,
                    BOX * (1 - waste / chart->top));
        open = shown;
    }
    fputs("\"/>\n", chart->out);
}

static void draw_heights(const struct chart *chart, bool labels)
{
    double step = tic_scale_step(chart->top, 5);

    for (double waste = 0; waste <= chart->top * 1.0001; waste += step) {
        double y = HEIGHT * (1 - waste / chart->top);
        if (labels)
            fprintf(chart->out, "<div style=\"top:%.1fpx\">%.3g %%</div>", y, 100 * waste);
        else
            fprintf(chart->out,
                    "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                    waste == 0 ? "edge" : "grid", y, y);
    }
}

static void draw_periods(const struct chart *chart, bool labels)
{
    static const double marks[] = {1e-4,  1e-3,  1e-2,  0.1,    0.3,    1,       3,
                                   10,    30,    60,    180,    600,    1800,    3600,
                                   10800, 43200, 86400, 259200, 864000, 2592000, 8640000};
    double last = -1;
    unsigned index = 0;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        double place = x_of(chart, marks[i]);
        char text[TIC_SCALE_TEXT];
        if (place < 0 || place > 1 || (last >= 0 && place - last < 0.08))
            continue;
        last = place;
        tic_scale_duration(text, marks[i]);
        if (labels)
            tic_page_tick(chart->out, place, text, index++);
        else
            fprintf(chart->out,
                    "<line class=\"grid\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>\n",
                    100 * place, 100 * place, (int)HEIGHT);
    }
}

static void draw_points(const struct chart *chart)
{
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        double waste = waste_at(chart, i, chart->best[i]);
        if (isfinite(waste))
            fprintf(chart->out,
                    "<span class=\"point c%d\" style=\"left:%.3f%%;top:%.1fpx\" title=\"%s\">"
                    "</span>\n",
                    i, 100 * x_of(chart, chart->best[i]), HEIGHT * (1 - waste / chart->top),
                    tic_interval_names[i]);
    }
    double waste = waste_at(chart, TIC_INTERVAL_COORDINATED, chart->period);
    if (chart->period > 0 && waste <= chart->top)
        fprintf(chart->out,
                "<span class=\"point\" style=\"left:%.3f%%;top:%.1fpx;background:var(--bad);"
                "width:16px;height:16px;margin:-8px 0 0 -8px\" title=\"this run\"></span>\n",
                100 * x_of(chart, chart->period), HEIGHT * (1 - waste / chart->top));
}

static void print_model(const struct chart *chart, const char *class, const char *name,
                        double period, double waste)
{
    char text[TIC_SCALE_TEXT];

    tic_scale_duration(text, period);
    fprintf(chart->out, "<li><i class=\"%s\"></i>%s: %s", class, name, text);
    if (isfinite(waste))
        fprintf(chart->out, ", %.3g %% waste", 100 * waste);
    fputs("</li>", chart->out);
}

static void print_key(const struct chart *chart)
{
    fputs("<ul class=\"key\">", chart->out);
    if (chart->period > 0)
        print_model(chart, "bad", "this run", chart->period,
                    waste_at(chart, TIC_INTERVAL_COORDINATED, chart->period));
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        char class[8];
        snprintf(class, sizeof(class), "c%d", i);
        print_model(chart, class, tic_interval_names[i], chart->best[i],
                    waste_at(chart, i, chart->best[i]));
    }
    fputs("</ul>\n", chart->out);
}

void tic_picture_interval(FILE *out, const struct tic_interval_costs *costs, double period)
{
    struct chart chart = {.out = out, .costs = costs, .period = period > costs->t_c ? period : 0};

    choose_scales(&chart);
    fprintf(out, "<div class=\"plot interval\"><div class=\"heights\" style=\"height:%dpx\">",
            (int)HEIGHT);
    draw_heights(&chart, true);
    fprintf(out,
            "</div>\n<div class=\"over\"><svg height=\"%d\" role=\"img\" aria-label=\"waste "
            "against the period\">\n",
            (int)HEIGHT);
    draw_heights(&chart, false);
    draw_periods(&chart, false);
    fprintf(out,
            "<svg width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
            "style=\"overflow:hidden\">\n",
            (int)HEIGHT, (int)BOX, (int)BOX);
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++)
        draw_curve(&chart, i);
    fputs("</svg></svg>\n", out);
    draw_points(&chart);
    fputs("</div>\n<div class=\"ticks\">", out);
    draw_periods(&chart, true);
    fputs("</div>\n<div class=\"axis\">period: from checkpoint to checkpoint (logarithmic); up: "
          "share of the time that is lost</div></div>\n",
          out);
    print_key(&chart);
}
