/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost curve of interval models: expected waste against the period, as an SVG picture. */
#include "tools/curve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* The picture, and the area of the curves within it. */
enum { WIDTH = 900, HEIGHT = 470, LEFT = 86, RIGHT = 625, TOP = 70, BOTTOM = 405 };
enum { SAMPLES = 160, LEGEND = 645, LEGEND_STEP = 48, STYLES = 5 };

/* How far the picture goes to both sides of what is marked, and above the largest waste of that. */
#define AROUND 8.0
#define ABOVE 2.8
#define LEAST_WASTE 1e-4

/* A style for each model, in turn: colors on light and dark pages that people tell apart who see no
 * red, or no green. Curves and points that lie on each other become smaller towards the last. */
static const struct style {
    const char *light, *dark, *shape;
    double width, size;
} styles[STYLES] = {
    {"#0072b2", "#56b4e9", "M-5-5H5V5H-5Z", 6, 1.9},
    {"#d55e00", "#f08c3c", "M0-7L7 0L0 7L-7 0Z", 4.5, 1.6},
    {"#007a5a", "#2fd0a5", "M0-7L6.5 5H-6.5Z", 3.3, 1.4},
    {"#b0378a", "#e58ac0", "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0Z", 2.2, 1.1},
    {"#222222", "#f0f0f0", "M0 7L6.5-5H-6.5Z", 1.2, 0.7},
};

struct picture {
    FILE *out;
    const struct tic_curve *curve;
    double first, last; /* s: periods at the left and the right; by their logarithm */
    double highest;     /* waste at the top */
};

static double x_of(const struct picture *picture, double period)
{
    double share = log(period / picture->first) / log(picture->last / picture->first);

    return LEFT + share * (RIGHT - LEFT);
}

static double y_of(const struct picture *picture, double waste)
{
    return BOTTOM - waste / picture->highest * (BOTTOM - TOP);
}

static double waste_at(const struct tic_curve *curve, int model, double period)
{
    double interval = period - curve->costs->t_c;

    return tic_interval_waste(tic_interval_wall(model, curve->costs, interval, curve->work),
                              curve->work);
}

static double period_of(const struct tic_curve *curve, int model)
{
    return curve->choices[model].interval + curve->costs->t_c;
}

static void choose_scales(struct picture *picture)
{
    const struct tic_curve *curve = picture->curve;

    picture->first = INFINITY;
    picture->highest = LEAST_WASTE;
    for (int i = 0; i < 2 * TIC_INTERVAL_MODELS; i++) {
        int model = i / 2;
        double period = i % 2 && curve->period > 0 ? curve->period : period_of(curve, model);
        double waste = waste_at(curve, model, period);
        picture->first = fmin(picture->first, period);
        picture->last = fmax(picture->last, period);
        picture->highest = fmax(picture->highest, isfinite(waste) ? waste : 0);
    }
    picture->first = fmax(picture->first / AROUND, curve->costs->t_c * 1.0001);
    picture->last *= AROUND;
    picture->highest = fmin(picture->highest * ABOVE, 1);
}

struct text {
    char bytes[32];
};

/* Minutes and longer units only where they are short to say. */
static struct text time_of(double seconds)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
    struct text text;
    size_t i = 0;

    while (i < 3 && seconds < 2 * units[i].seconds && seconds != units[i].seconds)
        i++;
    for (; i >= 3 && i < 5 && seconds < units[i].seconds * 0.9995; i++)
        ;
    double number = seconds / units[i].seconds;
    snprintf(text.bytes, sizeof(text.bytes), number < 1000 ? "%.3g %s" : "%.0f %s", number,
             units[i].name);
    return text;
}

static void print_style(FILE *out)
{
    fputs("<style>text{font:13px system-ui,sans-serif;fill:#1b1b1b}.small{font-size:12px;"
          "fill:#595959}.title{font-size:16px;font-weight:600}.page{fill:#ffffff}"
          ".grid{stroke:#e3e3e3}.axis{stroke:#6b6b6b;fill:none}.run{stroke:#6b6b6b;"
          "stroke-dasharray:5 4}.curve{fill:none}.point{stroke:#ffffff}\n",
          out);
    fputs("@media (prefers-color-scheme:dark){text{fill:#ececec}.small{fill:#b0b0b0}"
          ".page{fill:#17191d}.grid{stroke:#33363c}.axis,.run{stroke:#9a9a9a}"
          ".point{stroke:#17191d}}\n",
          out);
    for (int i = 0; i < STYLES; i++)
        fprintf(out,
                ".c%d{stroke:%s;stroke-width:%g}.p%d{fill:%s}@media "
                "(prefers-color-scheme:dark){.c%d{stroke:%s}.p%d{fill:%s}}\n",
                i, styles[i].light, styles[i].width, i, styles[i].light, i, styles[i].dark, i,
                styles[i].dark);
    fputs("</style>\n", out);
}

static void print_head(const struct picture *picture)
{
    const struct tic_interval_costs *costs = picture->curve->costs;
    FILE *out = picture->out;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>Expected waste against the checkpoint period"
            "</title>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    print_style(out);
    fprintf(out,
            "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<clipPath id=\"area\"><rect "
            "x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>\n",
            WIDTH, HEIGHT, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
    fprintf(out,
            "<text class=\"title\" x=\"%d\" y=\"28\">Expected waste against the checkpoint "
            "period</text>\n<text class=\"small\" x=\"%d\" y=\"50\">a checkpoint costs %s, loading "
            "%s, MTBF %s, work %s</text>\n",
            LEFT, LEFT, time_of(costs->t_c).bytes, time_of(costs->t_l).bytes,
            time_of(costs->mtbf).bytes, time_of(picture->curve->work).bytes);
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* 1, 2 or 5 times a power of ten: for about `count` steps up to `most`. */
static double round_step(double most, double count)
{
    double power = pow(10, floor(log10(most / count))), rest = most / count / power;

    return power * (rest > 5 ? 10 : rest > 2 ? 5 : rest > 1 ? 2 : 1);
}

static void draw_wastes(const struct picture *picture)
{
    double step = round_step(100 * picture->highest, 6);
    int digits = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;

    for (int i = 0; i * step <= 100 * picture->highest * (1 + 1e-9); i++) {
        double y = y_of(picture, i * step / 100);
        fprintf(picture->out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%.*f %%</text>\n",
                LEFT, y, RIGHT, LEFT - 8, y + 4.5, digits, i * step);
    }
}

static void draw_tick(const struct picture *picture, double period, double x)
{
    fprintf(picture->out,
            "<path class=\"grid\" d=\"M%.1f %dV%d\"/><path class=\"axis\" d=\"M%.1f %dv5\"/>"
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            x, TOP, BOTTOM, x, BOTTOM, x, BOTTOM + 21, time_of(period).bytes);
}

/* Periods that people read at a glance, s; then those that fill gaps between them. */
static const double marks[] = {1e-6, 1e-5, 1e-4,  1e-3,  1e-2,   0.1,   1,    10,   60,
                               600,  3600, 86400, 864e3, 864e4,  864e5, 2e-3, 5e-3, 2e-2,
                               5e-2, 0.2,  0.5,   2,     5,      20,    120,  300,  1200,
                               1800, 7200, 18e3,  36e3,  172800, 432e3};
enum { MARKS = sizeof(marks) / sizeof(marks[0]), ROOM = 58 };

static void draw_periods(const struct picture *picture)
{
    double drawn[MARKS];
    unsigned count = 0;

    for (unsigned i = 0; i < MARKS; i++) {
        bool fits = marks[i] >= picture->first && marks[i] <= picture->last;
        drawn[count] = x_of(picture, marks[i]);
        for (unsigned k = 0; k < count; k++)
            fits = fits && fabs(drawn[k] - drawn[count]) >= ROOM;
        if (fits)
            draw_tick(picture, marks[i], drawn[count++]);
    }
}

static void draw_axes(const struct picture *picture)
{
    draw_wastes(picture);
    draw_periods(picture);
    fprintf(picture->out,
            "<path class=\"axis\" d=\"M%d %dV%dH%d\"/><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"middle\">period: from checkpoint to checkpoint (logarithmic)</text>"
            "<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">waste: share "
            "of the wall time</text>\n",
            LEFT, TOP, BOTTOM, RIGHT, (LEFT + RIGHT) / 2, BOTTOM + 48, (TOP + BOTTOM) / 2);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void draw_curve(const struct picture *picture, int model)
{
    const struct tic_curve *curve = picture->curve;
    double ratio = picture->last / picture->first;
    bool is_open = false; /* the pen is down */

    fprintf(picture->out, "<path class=\"curve c%d\" clip-path=\"url(#area)\" d=\"",
            model % STYLES);
    for (int i = 0; i <= SAMPLES; i++) {
        double period = picture->first * pow(ratio, (double)i / SAMPLES);
        double waste = waste_at(curve, model, period);
        if (isfinite(waste)) /* what is far above is out of sight, and short to write */
            fprintf(picture->out, "%s%.1f %.1f", is_open ? "L" : "M", x_of(picture, period),
                    fmax(y_of(picture, waste), TOP - 2 * HEIGHT));
        is_open = isfinite(waste);
    }
    fputs("\"/>\n", picture->out);
}

static void draw_point(const struct picture *picture, int model, double x, double y)
{
    const struct style *style = &styles[model % STYLES];

    fprintf(picture->out,
            "<path class=\"point p%d\" transform=\"translate(%.1f %.1f) scale(%g)\" d=\"%s\"/>\n",
            model % STYLES, x, y, style->size, style->shape);
}

static void print_legend(const struct picture *picture, int row, const char *class,
                         const char *name, double period)
{
    int y = TOP + 14 + row * LEGEND_STEP;

    fprintf(picture->out,
            "<path class=\"%s\" d=\"M%d %dh36\"/><text x=\"%d\" y=\"%d\">%s</text>"
            "<text class=\"small\" x=\"%d\" y=\"%d\">%s",
            class, LEGEND, y, LEGEND + 48, y + 4, name, LEGEND + 48, y + 21, time_of(period).bytes);
}

static void draw_choice(const struct picture *picture, int model)
{
    double period = period_of(picture->curve, model);
    double waste = waste_at(picture->curve, model, period);
    char class[32];

    snprintf(class, sizeof(class), "curve c%d", model % STYLES);
    print_legend(picture, model, class, tic_interval_names[model], period);
    if (isfinite(waste))
        fprintf(picture->out, ": %.3g %% waste</text>\n", 100 * waste);
    else
        fputs(": the model does not hold</text>\n", picture->out);
    draw_point(picture, model, LEGEND + 18, TOP + 14 + model * LEGEND_STEP);
    if (isfinite(waste))
        draw_point(picture, model, x_of(picture, period), y_of(picture, waste));
}

static void draw_run(const struct picture *picture)
{
    print_legend(picture, TIC_INTERVAL_MODELS, "run", "the given period", picture->curve->period);
    fprintf(picture->out, "</text><path class=\"run\" d=\"M%.1f %dV%d\"/>\n",
            x_of(picture, picture->curve->period), TOP, BOTTOM);
}

int tic_curve_write(const char *path, const struct tic_curve *curve)
{
    struct picture picture = {.out = fopen(path, "we"), .curve = curve};

    if (!picture.out)
        return -errno;
    choose_scales(&picture);
    print_head(&picture);
    draw_axes(&picture);
    if (curve->period > 0)
        draw_run(&picture);
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++)
        draw_curve(&picture, model);
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++)
        draw_choice(&picture, model);
    fputs("</svg>\n", picture.out);
    int status = ferror(picture.out) ? -EIO : 0;
    return fclose(picture.out) != 0 && status == 0 ? -errno : status;
}
