/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The timeline of a report: a lane for each worker, one for main(), and one for checkpoints. Tasks
 * too short to be seen are drawn together, so that a picture has some tens of thousands of marks at
 * most, however many tasks there were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/page.h"
#include "tools/pictures.h"

enum { LANE = 26, SPACE = 5, NOTES = 6, MARKS = 40000, COLUMNS = 1500, NARROW = 7 };

struct drawing {
    FILE *out;
    const struct tic_traced *traced;
    struct tic_time_scale scale;
    int lanes, height;  /* px */
    bool has_main;      /* some stall is one of main() */
    double least;       /* share of the width below which tasks are drawn together */
    unsigned *color_of; /* by name: 0 to TIC_PAGE_COLORS */
};

/* ---- scale ---------------------------------------------------------------------------------- */

struct tic_time_scale tic_picture_scale(const struct tic_traced *traced)
{
    struct tic_time_scale scale = tic_time_scale_make(0, traced->end);
    double busy = 0;

    for (unsigned long i = 0; i < traced->runs.count; i++)
        busy += traced->runs.items[i].last - traced->runs.items[i].begin;
    for (unsigned long i = 0; i + 1 < traced->runs.count; i++)
        if (traced->runs.items[i + 1].begin > traced->runs.items[i].last)
            tic_time_scale_add_gap(&scale, traced->runs.items[i].last,
                                   traced->runs.items[i + 1].begin, busy);
    return scale;
}

/* Is the time within a gap that is drawn short? */
static bool is_in_gap(const struct tic_time_scale *scale, double time)
{
    for (unsigned i = 0; i < scale->gap_count; i++)
        if (time > scale->gaps[i].begin && time < scale->gaps[i].end)
            return true;
    return false;
}

/* Calls for each round time; marks that would touch are left out. */
static void each_tick(const struct tic_time_scale *scale,
                      void (*draw)(FILE *out, double place, const char *text, unsigned index,
                                   int height),
                      FILE *out, int height)
{
    enum { MOST = 12, MOST_MARKS = 1000 };
    double busy = scale->end - scale->begin, last = -1;
    unsigned index = 0;

    for (unsigned i = 0; i < scale->gap_count; i++)
        busy -= scale->gaps[i].end - scale->gaps[i].begin;
    double step = tic_scale_time_step(busy, MOST);
    double first = ceil(scale->begin / step);
    for (double i = first; i * step <= scale->end && i < first + MOST_MARKS; i++) {
        char text[TIC_SCALE_TEXT];
        double place = tic_time_scale_place(scale, i * step);
        if (is_in_gap(scale, i * step) || place - last < 0.055)
            continue;
        tic_scale_clock(text, i * step, step);
        draw(out, last = place, text, index++, height);
    }
}

static void draw_line(FILE *out, double place, const char *text, unsigned index, int height)
{
    (void)text, (void)index;
    fprintf(out, "<line class=\"grid\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>\n",
            100 * place, 100 * place, height);
}

static void draw_mark(FILE *out, double place, const char *text, unsigned index, int height)
{
    (void)height;
    tic_page_tick(out, place, text, index);
}

void tic_picture_time_grid(FILE *out, const struct tic_traced *traced,
                           const struct tic_time_scale *scale, int height)
{
    (void)traced;
    each_tick(scale, draw_line, out, height);
}

void tic_picture_time_axis(FILE *out, const struct tic_traced *traced,
                           const struct tic_time_scale *scale)
{
    (void)traced;
    fputs("<div class=\"ticks\">", out);
    each_tick(scale, draw_mark, out, 0);
    fprintf(out, "</div>\n<div class=\"axis\">time since the first start%s</div>\n",
            scale->gap_count > 0 ? "; time without a run is drawn short" : "");
}

/* ---- colors --------------------------------------------------------------------------------- */

struct share {
    unsigned name;
    double seconds;
};

static int by_seconds(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

/* The codelets that took most have colors of their own. NULL: no memory. */
static struct share *choose_colors(struct drawing *drawing)
{
    const struct tic_traced *traced = drawing->traced;
    struct share *shares = calloc(traced->name_count + 1, sizeof(*shares));

    drawing->color_of = calloc(traced->name_count + 1, sizeof(*drawing->color_of));
    if (!shares || !drawing->color_of) {
        free(shares);
        return NULL;
    }
    for (unsigned i = 0; i < traced->name_count; i++)
        shares[i].name = i;
    for (unsigned long i = 0; i < traced->tasks.count; i++)
        shares[traced->tasks.items[i].name].seconds +=
            traced->tasks.items[i].end - traced->tasks.items[i].begin;
    if (traced->name_count > 0)
        qsort(shares, traced->name_count, sizeof(*shares), by_seconds);
    for (unsigned i = 0; i < traced->name_count; i++)
        drawing->color_of[shares[i].name] = i < TIC_PAGE_COLORS ? i : TIC_PAGE_COLORS;
    return shares;
}

static void print_key_item(FILE *out, const char *class, const char *text)
{
    fprintf(out, "<li><i class=\"%s\"></i>", class);
    tic_page_text(out, text);
    fputs("</li>", out);
}

static void draw_key(const struct drawing *drawing, const struct share *shares)
{
    const struct tic_traced *traced = drawing->traced;
    char class[8], text[160], time[TIC_SCALE_TEXT];

    fputs("<ul class=\"key\">", drawing->out);
    for (unsigned i = 0; i < traced->name_count && i < TIC_PAGE_COLORS && shares[i].seconds > 0;
         i++) {
        const char *name = traced->names[shares[i].name];
        snprintf(class, sizeof(class), "c%u", i);
        tic_scale_duration(time, shares[i].seconds);
        snprintf(text, sizeof(text), "%.100s (%s)", name[0] ? name : "no name", time);
        print_key_item(drawing->out, class, text);
    }
    if (traced->name_count > TIC_PAGE_COLORS)
        print_key_item(drawing->out, "c8", "others");
    fputs("</ul>\n<ul class=\"key\">", drawing->out);
    print_key_item(drawing->out, "c0 lost", "pale: executed again after a crash");
    print_key_item(drawing->out, "ink", "notch at the top: stolen from another worker");
    print_key_item(drawing->out, "bad", "line at the bottom: held by a checkpoint");
    print_key_item(drawing->out, "mark", "checkpoint, from its cut to its commit");
    print_key_item(drawing->out, "ok", "restart, until its first task");
    fputs("</ul>\n", drawing->out);
}

/* ---- marks ---------------------------------------------------------------------------------- */

static double place_of(const struct drawing *drawing, double time)
{
    return 100 * tic_time_scale_place(&drawing->scale, time);
}

static int top_of(int lane)
{
    return NOTES + lane * (LANE + SPACE);
}

static void draw_stretch(const struct drawing *drawing, const char *class, double begin, double end,
                         int y, int height)
{
    double from = place_of(drawing, begin);

    fprintf(drawing->out,
            "<rect class=\"%s\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\">", class, from,
            y, fmax(place_of(drawing, end) - from, 0.02), height);
}

static void draw_title(const struct drawing *drawing, const char *what, double begin, double end)
{
    char at[TIC_SCALE_TEXT], length[TIC_SCALE_TEXT];

    tic_scale_duration(at, begin);
    tic_scale_duration(length, end - begin);
    fputs("<title>", drawing->out);
    tic_page_text(drawing->out, what);
    fprintf(drawing->out, ", at %s, for %s</title></rect>\n", at, length);
}

/* Tasks of a column that are drawn together. */
struct bundle {
    double begin, end, longest;
    unsigned long count, lost, stolen;
    const struct tic_traced_task *main; /* the longest one */
};

static void draw_theft(const struct drawing *drawing, double begin, int y)
{
    double x = place_of(drawing, begin);

    fprintf(drawing->out,
            "<rect class=\"theft\" x=\"%.3f%%\" y=\"%d\" width=\"4\" height=\"4\"/>\n", x, y);
}

static void draw_bundle(const struct drawing *drawing, struct bundle *bundle)
{
    char class[32], what[256], number[32] = "";
    const struct tic_traced_task *task = bundle->main;

    if (bundle->count == 0)
        return;
    int y = top_of(task->worker);
    const char *name = drawing->traced->names[task->name];
    snprintf(class, sizeof(class), "c%u%s", drawing->color_of[task->name],
             2 * bundle->lost > bundle->count ? " lost" : "");
    if (bundle->count == 1 && task->number != UINT64_MAX)
        snprintf(number, sizeof(number), " task %llu:", (unsigned long long)task->number);
    if (bundle->count == 1)
        snprintf(what, sizeof(what), "worker %d,%s %.100s%s%s", task->worker, number,
                 name[0] ? name : "no name", task->victim >= 0 ? ", stolen" : "",
                 task->unfinished ? ", not ended"
                 : task->lost     ? ", executed again"
                                  : "");
    else
        snprintf(what, sizeof(what), "worker %d, %lu tasks, the longest %.100s", task->worker,
                 bundle->count, name);
    draw_stretch(drawing, class, bundle->begin, bundle->end, y, LANE);
    draw_title(drawing, what, bundle->begin, bundle->end);
    if (bundle->stolen > 0 && 2 * bundle->stolen >= bundle->count)
        draw_theft(drawing, bundle->begin, y);
    *bundle = (struct bundle){0};
}

static bool may_join(const struct drawing *drawing, const struct bundle *bundle,
                     const struct tic_traced_task *task)
{
    double from = place_of(drawing, bundle->begin) / 100, to = place_of(drawing, task->end) / 100;
    double gap = tic_time_scale_place(&drawing->scale, task->begin) -
                 tic_time_scale_place(&drawing->scale, bundle->end);

    return bundle->main->worker == task->worker && bundle->main->run == task->run &&
           to - from < drawing->least && gap < drawing->least / 2;
}

static void draw_tasks(const struct drawing *drawing)
{
    struct bundle bundle = {0};

    for (unsigned long i = 0; i < drawing->traced->tasks.count; i++) {
        const struct tic_traced_task *task = &drawing->traced->tasks.items[i];
        if (bundle.count > 0 && !may_join(drawing, &bundle, task))
            draw_bundle(drawing, &bundle);
        if (bundle.count == 0)
            bundle.begin = task->begin;
        if (bundle.count == 0 || task->end - task->begin > bundle.longest) {
            bundle.main = task;
            bundle.longest = task->end - task->begin;
        }
        bundle.end = task->end;
        bundle.count++;
        bundle.lost += task->lost;
        bundle.stolen += task->victim >= 0;
    }
    draw_bundle(drawing, &bundle);
}

static void draw_stalls(const struct drawing *drawing)
{
    enum { THICK = 4 };
    double last_end = -1;
    int last_lane = -1;

    for (unsigned long i = 0; i < drawing->traced->stalls.count; i++) {
        const struct tic_traced_stall *stall = &drawing->traced->stalls.items[i];
        int lane = stall->worker < 0 ? drawing->lanes - 2 : stall->worker;
        double end = place_of(drawing, stall->end);
        if (lane == last_lane && end - last_end < 0.02)
            continue; /* no one could see it beside the last one */
        draw_stretch(drawing, "stall", stall->begin, stall->end,
                     top_of(lane) + (stall->worker < 0 ? 0 : LANE - THICK),
                     stall->worker < 0 ? LANE : THICK);
        draw_title(drawing, "held by a checkpoint", stall->begin, stall->end);
        last_end = end;
        last_lane = lane;
    }
}

static void draw_checkpoints(const struct drawing *drawing)
{
    int y = top_of(drawing->lanes - 1);

    for (unsigned long i = 0; i < drawing->traced->checkpoints.count; i++) {
        const struct tic_traced_checkpoint *checkpoint = &drawing->traced->checkpoints.items[i];
        char what[160], bytes[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT];
        tic_scale_bytes(bytes, (double)checkpoint->bytes);
        tic_scale_count(done, checkpoint->tasks_done);
        snprintf(what, sizeof(what), "checkpoint %llu: %s tasks done, %s written",
                 (unsigned long long)checkpoint->line, done, bytes);
        draw_stretch(drawing, "commit seam", checkpoint->begin, checkpoint->end, y, LANE);
        draw_title(drawing, what, checkpoint->begin, checkpoint->end);
    }
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void describe_end(const struct tic_traced_run *run, char text[64])
{
    enum { STOPPED = 75 };

    if (run->signal > 0)
        snprintf(text, 64, "SIG%s", sigabbrev_np(run->signal) ? sigabbrev_np(run->signal) : "?");
    else if (run->status == STOPPED)
        snprintf(text, 64, "stopped");
    else if (run->status < 0)
        snprintf(text, 64, "died");
    else
        snprintf(text, 64, "status %d", run->status);
}

static void draw_run(const struct drawing *drawing, unsigned long i)
{
    const struct tic_traced_run *run = &drawing->traced->runs.items[i];
    double end = place_of(drawing, run->last);

    if (i > 0 && !isnan(run->first_task)) {
        draw_stretch(drawing, "again", run->begin, run->first_task, 0, drawing->height);
        draw_title(drawing, "restart, until its first task", run->begin, run->first_task);
    }
    if (!tic_traced_died(run))
        return;
    if (i + 1 < drawing->traced->runs.count) {
        draw_stretch(drawing, "down", run->last, run[1].begin, 0, drawing->height);
        draw_title(drawing, "no process runs", run->last, run[1].begin);
    }
    fprintf(drawing->out,
            "<line class=\"death\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"-4\" y2=\"%d\"/>\n", end, end,
            drawing->height);
}

/* The words above; those that would touch the one before show only a cross. */
static void draw_notes(const struct drawing *drawing)
{
    double last = -100;

    fputs("<div class=\"notes\">", drawing->out);
    for (unsigned long i = 0; i < drawing->traced->runs.count; i++) {
        const struct tic_traced_run *run = &drawing->traced->runs.items[i];
        char text[64];
        double place = place_of(drawing, run->last);
        if (!tic_traced_died(run) || place - last < 1)
            continue;
        describe_end(run, text);
        bool fits = place - last > NARROW, is_right = place > 100 - NARROW / 2;
        fprintf(drawing->out, "<span%s style=\"left:%.3f%%\" title=\"%s\">✕%s%s%s</span>",
                is_right ? " class=\"last\"" : "", place, text, fits ? "<em> " : "",
                fits ? text : "", fits ? "</em>" : "");
        last = place;
    }
    fputs("</div>\n", drawing->out);
}

static void draw_names(const struct drawing *drawing)
{
    fprintf(drawing->out, "<div class=\"names\" style=\"padding-top:%dpx\">", NOTES);
    for (int i = 0; i < drawing->lanes; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker %d", i);
        if (i == drawing->lanes - 1)
            snprintf(name, sizeof(name), "checkpoints");
        else if (i == drawing->lanes - 2 && drawing->has_main)
            snprintf(name, sizeof(name), "main()");
        fprintf(drawing->out, "<div style=\"height:%dpx;line-height:%dpx\">%s</div>", LANE + SPACE,
                LANE, name);
    }
    fputs("</div>\n", drawing->out);
}

static void draw_lanes(const struct drawing *drawing)
{
    fprintf(drawing->out,
            "<svg class=\"lanes\" height=\"%d\" role=\"img\" aria-label=\"timeline of the "
            "workers\">\n",
            drawing->height);
    for (int i = 0; i < drawing->lanes; i++)
        fprintf(drawing->out,
                "<rect class=\"lane\" x=\"0\" y=\"%d\" width=\"100%%\" height=\"%d\"/>\n",
                top_of(i), LANE);
    tic_picture_time_grid(drawing->out, drawing->traced, &drawing->scale, drawing->height);
    draw_tasks(drawing);
    draw_stalls(drawing);
    draw_checkpoints(drawing);
    for (unsigned long i = 0; i < drawing->traced->runs.count; i++)
        draw_run(drawing, i);
    fputs("</svg>\n", drawing->out);
}

void tic_picture_timeline(FILE *out, const struct tic_traced *traced)
{
    struct drawing drawing = {.out = out, .traced = traced, .scale = tic_picture_scale(traced)};
    int columns = MARKS / (traced->workers + 1);

    for (unsigned long i = 0; i < traced->stalls.count; i++)
        drawing.has_main |= traced->stalls.items[i].worker < 0;
    drawing.lanes = traced->workers + drawing.has_main + 1;
    drawing.height = top_of(drawing.lanes);
    drawing.least = 1.0 / (columns < COLUMNS ? columns : COLUMNS);
    struct share *shares = choose_colors(&drawing);
    if (shares) {
        fputs("<div class=\"plot\"><div></div>", out);
        draw_notes(&drawing);
        draw_names(&drawing);
        draw_lanes(&drawing);
        tic_picture_time_axis(out, traced, &drawing.scale);
        fputs("</div>\n", out);
        draw_key(&drawing, shares);
    }
    free(shares);
    free(drawing.color_of);
}
