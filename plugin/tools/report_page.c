/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page of a report: its head, and its sections in their order. */
#include <string.h>
#include <time.h>

#include "interval/models.h"
#include "tools/page.h"
#include "tools/pictures.h"
#include "tools/report_parts.h"

#define DEFAULT_MTBF 86400.0

/* ---- sums ----------------------------------------------------------------------------------- */

static const struct tic_traced_run *last_run(const struct tic_report *report)
{
    return report->traced.runs.count > 0 ? &report->traced.runs.items[report->traced.runs.count - 1]
                                         : NULL;
}

static double run_time(const struct tic_traced *traced)
{
    double seconds = 0;

    for (unsigned long i = 0; i < traced->runs.count; i++)
        seconds += traced->runs.items[i].last - traced->runs.items[i].begin;
    return seconds;
}

static double lost_time(const struct tic_traced *traced)
{
    double seconds = 0;

    for (unsigned long i = 0; i < traced->crashes.count; i++)
        seconds += traced->crashes.items[i].work + traced->crashes.items[i].down +
                   traced->crashes.items[i].restart;
    return seconds;
}

static double stalled_time(const struct tic_traced *traced)
{
    double seconds = 0;

    for (unsigned long i = 0; i < traced->stalls.count; i++)
        seconds += traced->stalls.items[i].worker < 0
                       ? 0
                       : traced->stalls.items[i].end - traced->stalls.items[i].begin;
    return seconds;
}

/* Tasks that are done, by all that is known: of lines, and what ended since and was not lost. */
static uint64_t tasks_done(const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;
    const struct tic_traced_run *run = last_run(report);
    uint64_t done = run && report->has_trace ? run->tasks_done : 0;

    if (!report->has_trace)
        return report->lines.has_newest ? report->lines.newest.tasks_done : 0;
    for (unsigned long i = 0; i < traced->tasks.count; i++)
        done += traced->tasks.items[i].run + 1 == traced->runs.count &&
                !traced->tasks.items[i].lost && !traced->tasks.items[i].unfinished;
    return done;
}

/* ---- the head ------------------------------------------------------------------------------- */

static void print_time_of_day(FILE *out, double seconds)
{
    time_t whole = (time_t)seconds;
    struct tm local;
    char text[64] = "";

    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&whole, &local));
    fputs(text, out);
}

static void print_state(FILE *out, const struct tic_report *report)
{
    const struct tic_traced_run *run = last_run(report);

    if (!run || !report->has_trace)
        fputs("<b>saved</b>", out);
    else if (!run->ended)
        fputs("<b>running, or killed without a witness</b>", out);
    else if (run->status == 0)
        fputs("<b class=\"ok\">finished</b>", out);
    else
        fprintf(out, "<b class=\"bad\">ended with status %d</b>", run->status);
}

static void print_title(FILE *out, const struct tic_report *report)
{
    const struct tic_traced_run *run = last_run(report);
    const char *program = report->lines.program ? report->lines.program : run ? run->program : "";

    fputs("<h1>", out);
    tic_page_text(out, program[0] ? program : "a run without a line yet");
    if (report->lines.arguments && report->lines.arguments[0]) {
        fputs(" <span class=\"soft\">", out);
        tic_page_text(out, report->lines.arguments);
        fputs("</span>", out);
    }
    fputs("</h1>\n<p>", out);
    print_state(out, report);
    if (run && report->has_trace) {
        fputs(", begun ", out);
        print_time_of_day(out, report->traced.origin);
        fprintf(out, ", protocol %s", run->protocol);
        if (run->host[0])
            fputs(", on ", out);
        tic_page_text(out, run->host);
    }
    if (report->directory || report->traced.directory) {
        fputs("</p>\n<p class=\"soft\">recovery lines: <code>", out);
        tic_page_text(out, report->directory ? report->directory : report->traced.directory);
        fprintf(out, "</code>%s", report->directory ? "" : " (removed at the end)");
    }
    fputs("</p>\n", out);
}

static void print_share_tile(FILE *out, double seconds, double all, const char *what)
{
    char time[TIC_SCALE_TEXT], text[128];

    tic_scale_duration(time, seconds);
    snprintf(text, sizeof(text), "%s: %.2g %%", what, all > 0 ? 100 * seconds / all : 0);
    tic_page_tile(out, time, text);
}

static void print_trace_tiles(FILE *out, const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;
    char text[TIC_SCALE_TEXT];
    uint64_t bytes = 0;

    snprintf(text, sizeof(text), "%lu", traced->runs.count);
    tic_page_tile(out, text, traced->runs.count == 1 ? "run" : "runs");
    snprintf(text, sizeof(text), "%lu", traced->crashes.count);
    tic_page_tile(out, text, traced->crashes.count == 1 ? "crash or stop" : "crashes and stops");
    tic_scale_duration(text, traced->end);
    tic_page_tile(out, text, "from the first start");
    print_share_tile(out, lost_time(traced), traced->end, "lost by crashes");
    snprintf(text, sizeof(text), "%lu", traced->checkpoints.count);
    tic_page_tile(out, text, "checkpoints");
    for (unsigned long i = 0; i < traced->checkpoints.count; i++)
        bytes += traced->checkpoints.items[i].bytes;
    tic_scale_bytes(text, (double)bytes);
    tic_page_tile(out, text, "written for them");
    print_share_tile(out, stalled_time(traced), run_time(traced) * traced->workers,
                     "of workers held by checkpoints");
}

static void print_statistics(FILE *out, const json_t *stats)
{
    double seconds = json_number_value(json_object_get(stats, "all_seconds"));
    char text[TIC_SCALE_TEXT];

    snprintf(text, sizeof(text), "%.3g", json_number_value(json_object_get(stats, "fault_ratio")));
    tic_scale_duration(text, seconds);
    tic_page_tile(out, text, "of all runs, by the statistics");
    snprintf(text, sizeof(text), "%lld",
             (long long)json_integer_value(json_object_get(stats, "thefts")));
    tic_page_tile(out, text, "thefts in the last run, by the statistics");
}

static void print_head(FILE *out, const struct tic_report *report)
{
    char text[2 * TIC_SCALE_TEXT], count[TIC_SCALE_TEXT];

    print_title(out, report);
    fputs("<div class=\"tiles\">\n", out);
    tic_scale_count(count, tasks_done(report));
    snprintf(text, sizeof(text), "%s", count);
    tic_page_tile(out, text, report->has_trace ? "tasks done" : "tasks done in the newest line");
    if (report->has_trace) {
        print_trace_tiles(out, report);
    } else if (report->traced.tasks.count > 0) {
        tic_scale_count(text, report->traced.tasks.count);
        tic_page_tile(out, text, "results of tasks in the event log");
    }
    if (report->stats)
        print_statistics(out, report->stats);
    fputs("</div>\n", out);
}

/* ---- sections ------------------------------------------------------------------------------- */

static void print_timeline(FILE *out, const struct tic_report *report)
{
    if (report->traced.tasks.count == 0 && !report->has_trace) {
        tic_page_section(out, "Workers over time",
                         "Nothing was recorded. <code>starpu-tic run --trace FILE</code> "
                         "(STARPU_TIC_TRACE) records when tasks run.");
        tic_page_section_end(out);
        return;
    }
    tic_page_section(out, "Workers over time",
                     report->has_trace
                         ? "Each mark is a task; short ones are drawn together. Point at a mark "
                           "to see what it is."
                         : "From the event log, which holds the results of tasks since the last "
                           "recovery line only. <code>starpu-tic run --trace FILE</code> records "
                           "all tasks.");
    tic_picture_timeline(out, &report->traced);
    if (report->traced.dropped > 0 || report->traced.full)
        fprintf(out, "<p class=\"bad\">Not all is here: %llu records were left out%s.</p>\n",
                (unsigned long long)report->traced.dropped,
                report->traced.full ? ", and the tasks after the trace had 64 MiB" : "");
    tic_page_section_end(out);
}

/* What the newest line has measured, else the last checkpoints. False: there is nothing. */
static bool find_costs(const struct tic_report *report, struct tic_interval_costs *costs,
                       double *period)
{
    const struct tic_account *account = &report->lines.newest.account;
    const struct tic_traced *traced = &report->traced;
    const struct tic_traced_run *run = last_run(report);

    *period = run ? run->period : 0;
    if (report->lines.has_newest && account->latency > 0) {
        costs->t_c = (double)account->cost * 1e-9;
        costs->t_l = (double)account->latency * 1e-9;
        *period = account->period > 0 ? (double)account->period * 1e-9 : *period;
        return true;
    }
    if (report->stats) {
        costs->t_c = json_number_value(json_object_get(report->stats, "checkpoint_cost_seconds"));
        costs->t_l =
            json_number_value(json_object_get(report->stats, "checkpoint_latency_seconds"));
        return costs->t_l > 0;
    }
    if (traced->checkpoints.count == 0 || traced->workers == 0)
        return false;
    for (unsigned long i = 0; i < traced->checkpoints.count; i++)
        costs->t_l += traced->checkpoints.items[i].end - traced->checkpoints.items[i].begin;
    costs->t_l /= (double)traced->checkpoints.count;
    costs->t_c = stalled_time(traced) / traced->workers / (double)traced->checkpoints.count;
    return true;
}

static void print_interval(FILE *out, const struct tic_report *report)
{
    struct tic_interval_costs costs = {.phi = 1, .least = TIC_INTERVAL_LEAST};
    const struct tic_traced *traced = &report->traced;
    const struct tic_traced_run *run = last_run(report);
    char what[400], mtbf[TIC_SCALE_TEXT], cost[TIC_SCALE_TEXT], load[TIC_SCALE_TEXT];
    const char *field, *source = "as it was given";
    double period;

    if (!find_costs(report, &costs, &period))
        return;
    costs.mtbf = report->mtbf;
    if (!(costs.mtbf > 0) && report->has_trace && traced->crashes.count > 0) {
        costs.mtbf = run_time(traced) / (double)traced->crashes.count;
        source = "as often as this run crashed or was stopped";
    } else if (!(costs.mtbf > 0)) {
        costs.mtbf = run && run->mtbf > 0 ? run->mtbf : DEFAULT_MTBF;
        source = "STARPU_TIC_MTBF";
    }
    if (tic_interval_costs_check(&costs, &field) != 0)
        return;
    tic_scale_duration(mtbf, costs.mtbf);
    tic_scale_duration(cost, costs.t_c);
    tic_scale_duration(load, costs.t_l);
    snprintf(what, sizeof(what),
             "The share of the time that checkpoints and crashes take, by models from the "
             "literature, if a fault comes every %s (%s), a checkpoint costs %s and its loading "
             "%s. Points are the best periods of the models; <code>--mtbf</code> tells another.",
             mtbf, source, cost, load);
    tic_page_section(out, "How far apart checkpoints should be", what);
    tic_picture_interval(out, &costs, period);
    tic_page_section_end(out);
}

void tic_report_print(FILE *out, const struct tic_report *report)
{
    tic_page_begin(out, "starpu-tic report");
    print_head(out, report);
    print_timeline(out, report);
    if (report->traced.checkpoints.count > 0) {
        tic_page_section(out, "Volume of each checkpoint",
                         "What was written since the checkpoint before, from cut to commit.");
        tic_picture_volumes(out, &report->traced);
        tic_page_section_end(out);
    }
    if (report->has_trace && report->traced.crashes.count > 0) {
        tic_page_section(out, "What each crash cost",
                         "Time from the cut that the restart begins with to the first new task.");
        tic_picture_crashes(out, &report->traced);
        tic_page_section_end(out);
    }
    print_interval(out, report);
    tic_report_print_data(out, report);
    tic_report_print_lines(out, report);
    tic_report_print_messages(out, report);
    fputs("<footer>starpu-tic " PACKAGE_VERSION ". The page needs no other file and no "
          "network.</footer>\n",
          out);
    tic_page_end(out);
}
