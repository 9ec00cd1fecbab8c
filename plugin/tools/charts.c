/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Charts of a report: the volume of checkpoints, and what crashes cost. */
#include <math.h>
#include <string.h>

#include "tools/pictures.h"

/* ---- volumes -------------------------------------------------------------------------------- */

enum { HEIGHT = 150 };

static double largest_volume(const struct tic_traced *traced)
{
    double most = 1;

    for (unsigned long i = 0; i < traced->checkpoints.count; i++)
        most = fmax(most, (double)traced->checkpoints.items[i].bytes);
    return most;
}

static void draw_heights(FILE *out, double step, double top)
{
    fprintf(out, "<div class=\"heights\" style=\"height:%dpx\">", HEIGHT);
    for (double bytes = 0; bytes <= top * 1.0001; bytes += step) {
        char text[TIC_SCALE_TEXT];
        tic_scale_bytes(text, bytes);
        fprintf(out, "<div style=\"top:%.1fpx\">%s</div>", HEIGHT * (1 - bytes / top), text);
    }
    fputs("</div>\n", out);
}

static void draw_volume(FILE *out, const struct tic_traced_checkpoint *checkpoint,
                        const struct tic_time_scale *scale, double top)
{
    char bytes[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT];
    double width = fmax(0.35, 100 * (tic_time_scale_place(scale, checkpoint->end) -
                                     tic_time_scale_place(scale, checkpoint->begin)));
    double right = 100 * tic_time_scale_place(scale, checkpoint->end);
    double height = HEIGHT * (double)checkpoint->bytes / top;

    tic_scale_bytes(bytes, (double)checkpoint->bytes);
    tic_scale_count(done, checkpoint->tasks_done);
    fprintf(out,
            "<rect class=\"commit seam\" x=\"%.3f%%\" y=\"%.1f\" width=\"%.3f%%\" height=\"%.1f\">"
            "<title>checkpoint %llu: %s written, %s tasks done</title></rect>\n",
            fmax(0, right - width), HEIGHT - height, width, fmax(height, 1),
            (unsigned long long)checkpoint->line, bytes, done);
}

void tic_picture_volumes(FILE *out, const struct tic_traced *traced)
{
    enum { LINES = 5 };
    struct tic_time_scale scale = tic_picture_scale(traced);
    double most = largest_volume(traced), step = tic_scale_byte_step(most, LINES);
    double top = ceil(most / step - 1e-9) * step;

    fputs("<div class=\"plot\">", out);
    draw_heights(out, step, top);
    fprintf(out,
            "<svg class=\"volumes\" height=\"%d\" role=\"img\" aria-label=\"bytes of each "
            "checkpoint\">\n",
            HEIGHT);
    tic_picture_time_grid(out, traced, &scale, HEIGHT);
    for (double bytes = 0; bytes <= top * 1.0001; bytes += step)
        fprintf(out, "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                bytes == 0 ? "edge" : "grid", HEIGHT * (1 - bytes / top),
                HEIGHT * (1 - bytes / top));
    for (unsigned long i = 0; i < traced->checkpoints.count; i++)
        draw_volume(out, &traced->checkpoints.items[i], &scale, top);
    fputs("</svg>\n", out);
    tic_picture_time_axis(out, traced, &scale);
    fputs("</div>\n", out);
}

/* ---- crashes -------------------------------------------------------------------------------- */

static double loss_of(const struct tic_traced_crash *crash)
{
    return crash->work + crash->down + crash->restart;
}

static void draw_part(FILE *out, const char *class, double seconds, double most, const char *what)
{
    char text[TIC_SCALE_TEXT];

    tic_scale_duration(text, seconds);
    if (seconds > 0)
        fprintf(out, "<i class=\"%s\" style=\"width:%.2f%%\" title=\"%s: %s\"></i>", class,
                100 * seconds / most, what, text);
}

static void draw_crash(FILE *out, const struct tic_traced *traced,
                       const struct tic_traced_crash *crash, unsigned long number, double most)
{
    char at[TIC_SCALE_TEXT], all[TIC_SCALE_TEXT], tasks[TIC_SCALE_TEXT];

    tic_scale_duration(at, traced->runs.items[crash->run].last);
    tic_scale_duration(all, loss_of(crash));
    tic_scale_count(tasks, crash->tasks);
    fprintf(out, "<div>%lu: at %s</div><div class=\"bar\">", number, at);
    draw_part(out, "bad", crash->work, most, "work since the cut");
    draw_part(out, "down", crash->down, most, "until the next start");
    draw_part(out, "ok", crash->restart, most, "restart, until its first task");
    fprintf(out, "</div><div class=\"value\">%s, %s task%s again</div>\n", all, tasks,
            crash->tasks == 1 ? "" : "s");
}

void tic_picture_crashes(FILE *out, const struct tic_traced *traced)
{
    enum { MOST = 40 };
    unsigned long count = traced->crashes.count, first = count > MOST ? count - MOST : 0;
    double most = 1e-9;

    for (unsigned long i = 0; i < count; i++)
        most = fmax(most, loss_of(&traced->crashes.items[i]));
    fputs("<div class=\"bars crashes\">\n", out);
    for (unsigned long i = first; i < count; i++)
        draw_crash(out, traced, &traced->crashes.items[i], i + 1, most);
    fputs("</div>\n<ul class=\"key\"><li><i class=\"bad\"></i>work since the cut that the restart "
          "begins with</li><li><i class=\"down\"></i>until the next start</li><li><i class=\"ok\">"
          "</i>restart, until its first task</li></ul>\n",
          out);
    if (first > 0)
        fprintf(out, "<p class=\"soft\">The last %d of %lu.</p>\n", (int)MOST, count);
}
