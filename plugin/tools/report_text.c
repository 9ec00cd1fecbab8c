/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report in text, for where no page can be drawn. */
#include <time.h>

#include "tools/report_parts.h"
#include "tools/scale.h"

static void print_time(FILE *out, double seconds)
{
    time_t whole = (time_t)seconds;
    struct tm local;
    char text[64] = "";

    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&whole, &local));
    fprintf(out, "%-21s", text);
}

static void print_end(FILE *out, const struct tic_traced_run *run)
{
    if (!run->ended)
        fputs("no end is known", out);
    else if (run->signal > 0)
        fprintf(out, "killed by signal %d", run->signal);
    else
        fprintf(out, run->status < 0 ? "died" : "status %d", run->status);
}

static void print_runs(FILE *out, const struct tic_traced *traced)
{
    unsigned long crash = 0;

    fprintf(out, "%-21s%8s%10s%8s%12s%10s  end\n", "begun", "workers", "from line", "for",
            "work lost", "again");
    for (unsigned long i = 0; i < traced->runs.count; i++) {
        const struct tic_traced_run *run = &traced->runs.items[i];
        char time[TIC_SCALE_TEXT], lost[TIC_SCALE_TEXT] = "-", again[TIC_SCALE_TEXT] = "-";
        tic_scale_duration(time, run->last - run->begin);
        if (crash < traced->crashes.count && traced->crashes.items[crash].run == i) {
            tic_scale_duration(lost, traced->crashes.items[crash].work);
            tic_scale_count(again, traced->crashes.items[crash++].tasks);
        }
        print_time(out, traced->origin + run->begin);
        fprintf(out, "%8u%10llu%8s%12s%10s  ", run->workers, (unsigned long long)run->line, time,
                lost, again);
        print_end(out, run);
        fputc('\n', out);
    }
}

static void print_lines(FILE *out, const struct tic_saved_lines *lines)
{
    fprintf(out, "\n%8s  %-21s%12s%12s%8s%10s  state\n", "line", "taken", "tasks done", "submitted",
            "data", "size");
    for (unsigned long i = 0; i < lines->count; i++) {
        const struct tic_saved_line *line = &lines->items[i];
        char bytes[TIC_SCALE_TEXT];
        tic_scale_bytes(bytes, (double)line->bytes);
        fprintf(out, "%8llu  ", (unsigned long long)line->number);
        print_time(out, line->created);
        fprintf(out, "%12llu%12llu%8llu%10s  %s\n", (unsigned long long)line->tasks_done,
                (unsigned long long)line->tasks_submitted, (unsigned long long)line->handles, bytes,
                tic_store_reason(line->status));
    }
}

void tic_report_print_text(FILE *out, const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;
    double bytes = 0;
    char text[TIC_SCALE_TEXT];

    if (report->has_trace) {
        print_runs(out, traced);
        for (unsigned long i = 0; i < traced->checkpoints.count; i++)
            bytes += (double)traced->checkpoints.items[i].bytes;
        tic_scale_bytes(text, bytes);
        fprintf(out, "%lu tasks executed, %lu checkpoints of %s\n", traced->tasks.count,
                traced->checkpoints.count, text);
    }
    if (report->lines.count > 0)
        print_lines(out, &report->lines);
}
