/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report as a JSON object: the numbers behind the page. */

#include "base/names.h"
#include "base/numbers.h"
#include "store/ask.h"
#include "tools/json_text.h"
#include "tools/report_parts.h"
#include "tools/waste.h"

#define DEFAULT_MTBF 86400.0
enum { FEWEST_CRASHES = 5 }; /* fewer tell nothing about the next one */

static json_t *text_or_null(const char *text)
{
    return text ? tic_json_text(text) : json_null();
}

static const struct tic_traced_run *last_run(const struct tic_report *report)
{
    unsigned long count = report->traced.runs.count;

    return count > 0 ? &report->traced.runs.items[count - 1] : NULL;
}

/* ---- the trace ------------------------------------------------------------------------------ */

static json_t *runs_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->runs.count; i++) {
        const struct tic_traced_run *run = &traced->runs.items[i];
        json_array_append_new(
            list,
            json_pack("{s:f, s:f, s:o, s:o, s:b, s:i, s:i, s:i, s:I, s:I, s:s, s:o, s:o}", "begin",
                      run->begin, "end", run->last, "first_task", tic_json_real(run->first_task),
                      "from_cut", tic_json_real(run->from_cut), "ended", (int)run->ended, "status",
                      run->status, "signal", run->signal, "workers", (int)run->workers, "line",
                      (json_int_t)run->line, "tasks_done", (json_int_t)run->tasks_done, "protocol",
                      run->protocol, "program", tic_json_text(run->program), "host",
                      tic_json_text(run->host)));
    }
    return list;
}

/* Why the last run was not followed by another; null: nobody said so. */
static json_t *reason_json(const struct tic_traced_run *run)
{
    return run && run->no_restart[0]
               ? json_pack("{s:s, s:I, s:o}", "reason", run->no_restart, "restarts",
                           (json_int_t)run->restarts, "tasks", tic_json_text(run->tasks))
               : json_null();
}

static json_t *crashes_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->crashes.count; i++) {
        const struct tic_traced_crash *crash = &traced->crashes.items[i];
        json_array_append_new(list,
                              json_pack("{s:i, s:f, s:f, s:f, s:I}", "run", (int)crash->run + 1,
                                        "work", crash->work, "down", crash->down, "restart",
                                        crash->restart, "tasks_again", (json_int_t)crash->tasks));
    }
    return list;
}

static json_t *checkpoints_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->checkpoints.count; i++) {
        const struct tic_traced_checkpoint *checkpoint = &traced->checkpoints.items[i];
        json_array_append_new(
            list, json_pack("{s:i, s:I, s:f, s:f, s:I, s:I}", "run", (int)checkpoint->run + 1,
                            "line", (json_int_t)checkpoint->line, "begin", checkpoint->begin, "end",
                            checkpoint->end, "tasks_done", (json_int_t)checkpoint->tasks_done,
                            "bytes", (json_int_t)checkpoint->bytes));
    }
    return list;
}

static json_t *tasks_json(const struct tic_traced *traced)
{
    uint64_t lost = 0, stolen = 0, unfinished = 0;

    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        lost += traced->tasks.items[i].lost;
        stolen += traced->tasks.items[i].victim >= 0;
        unfinished += traced->tasks.items[i].unfinished;
    }
    return json_pack("{s:I, s:I, s:I, s:I}", "executions", (json_int_t)traced->tasks.count, "again",
                     (json_int_t)lost, "stolen", (json_int_t)stolen, "unfinished",
                     (json_int_t)unfinished);
}

static json_t *messages_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->messages.count; i++) {
        const struct tic_traced_message *message = &traced->messages.items[i];
        json_array_append_new(list, json_pack("{s:i, s:f, s:i, s:o}", "run", (int)message->run + 1,
                                              "at", message->at, "level", message->level, "text",
                                              tic_json_text(message->text)));
    }
    return list;
}

static json_t *names_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->name_count; i++)
        json_array_append_new(list, tic_json_text(traced->names[i]));
    return list;
}

/* A row each, as there may be many. */
static void print_executions(FILE *out, const struct tic_traced *traced)
{
    char row[160];

    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        const struct tic_traced_task *task = &traced->tasks.items[i];
        tic_numbers_print(row, sizeof(row), "[%.6f,%.6f,%lld,%u,%u,%d,%d,%d,%d]", task->begin,
                          task->end, task->number == UINT64_MAX ? -1LL : (long long)task->number,
                          task->run + 1, task->name, task->worker, task->victim,
                          (int)task->unfinished, (int)task->lost);
        fprintf(out, "%s\n%s", i > 0 ? "," : "", row);
    }
}

static void print_stalls(FILE *out, const struct tic_traced *traced)
{
    char row[80];

    for (unsigned long i = 0; i < traced->stalls.count; i++) {
        const struct tic_traced_stall *stall = &traced->stalls.items[i];
        tic_numbers_print(row, sizeof(row), "[%.6f,%.6f,%d]", stall->begin, stall->end,
                          stall->worker);
        fprintf(out, "%s\n%s", i > 0 ? "," : "", row);
    }
}

/* ---- the directory -------------------------------------------------------------------------- */

static json_t *lines_json(const struct tic_saved_lines *lines)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < lines->count; i++) {
        const struct tic_saved_line *line = &lines->items[i];
        json_array_append_new(list, json_pack("{s:I, s:f, s:I, s:I, s:I, s:I, s:b, s:s}", "line",
                                              (json_int_t)line->number, "created", line->created,
                                              "tasks_done", (json_int_t)line->tasks_done,
                                              "tasks_submitted", (json_int_t)line->tasks_submitted,
                                              "handles", (json_int_t)line->handles, "bytes",
                                              (json_int_t)line->bytes, "good", line->status == 0,
                                              "state", tic_store_reason(line->status)));
    }
    return list;
}

static json_t *value_json(const struct tic_report *report, const struct tic_line_value *value)
{
    const struct tic_line *line = &report->lines.newest;
    struct tic_shape shape = tic_line_extent_shape(&line->extents[value->extent]);
    char text[128], number[32];

    tic_saved_shape_text(text, sizeof(text), &shape);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)value->id);
    return json_pack("{s:I, s:o, s:O?, s:s, s:I, s:I}", "data", (json_int_t)value->id, "name",
                     text_or_null(tic_name_plain(value->id)), "codelet",
                     json_object_get(report->writers, number), "shape", text, "bytes",
                     (json_int_t)tic_shape_bytes(&shape), "written", (json_int_t)value->version);
}

static json_t *data_json(const struct tic_report *report)
{
    const struct tic_line *line = &report->lines.newest;
    json_t *list = json_array();

    for (size_t i = 0; report->lines.has_newest && i < line->value_count; i++)
        json_array_append_new(list, value_json(report, &line->values[i]));
    return list;
}

/* ---- models of the interval ----------------------------------------------------------------- */

/* Of the last checkpoints, where no line has measured them. */
static bool derive_costs(const struct tic_traced *traced, struct tic_interval_costs *costs)
{
    double count = (double)traced->checkpoints.count, stalled = 0;

    if (traced->checkpoints.count == 0 || traced->workers == 0)
        return false;
    for (unsigned long i = 0; i < traced->checkpoints.count; i++)
        costs->t_l += traced->checkpoints.items[i].end - traced->checkpoints.items[i].begin;
    for (unsigned long i = 0; i < traced->stalls.count; i++)
        if (traced->stalls.items[i].worker >= 0)
            stalled += traced->stalls.items[i].end - traced->stalls.items[i].begin;
    costs->t_l /= count;
    costs->t_c = stalled / traced->workers / count;
    return true;
}

/* What the newest line has measured, else the last checkpoints. False: there is nothing. */
static bool find_costs(const struct tic_report *report, struct tic_interval_costs *costs,
                       double *period)
{
    const struct tic_account *account = &report->lines.newest.account;
    const struct tic_traced_run *run = last_run(report);

    *period = run ? run->period : 0;
    if (report->lines.has_newest && account->latency > 0) {
        costs->t_c = (double)account->cost * 1e-9;
        costs->t_l = (double)account->latency * 1e-9;
        *period = account->period > 0 ? (double)account->period * 1e-9 : *period;
        return true;
    }
    if (!report->stats)
        return derive_costs(&report->traced, costs);
    costs->t_c = json_number_value(json_object_get(report->stats, "checkpoint_cost_seconds"));
    costs->t_l = json_number_value(json_object_get(report->stats, "checkpoint_latency_seconds"));
    return costs->t_l > 0;
}

static double run_time(const struct tic_traced *traced)
{
    double seconds = 0;

    for (unsigned long i = 0; i < traced->runs.count; i++)
        seconds += traced->runs.items[i].last - traced->runs.items[i].begin;
    return seconds;
}

/* Where the mean time between faults comes from. */
static const char *choose_mtbf(const struct tic_report *report, double *mtbf)
{
    const struct tic_traced_run *run = last_run(report);
    unsigned long crashes = report->has_trace ? report->traced.crashes.count : 0;

    *mtbf = report->mtbf;
    if (*mtbf > 0)
        return "given";
    *mtbf = crashes >= FEWEST_CRASHES ? run_time(&report->traced) / (double)crashes
            : run && run->mtbf > 0    ? run->mtbf
                                      : DEFAULT_MTBF;
    return crashes >= FEWEST_CRASHES ? "crashes" : "setting";
}

static json_t *interval_json(const struct tic_report *report)
{
    struct tic_interval_costs costs = {.phi = 1, .least = TIC_INTERVAL_LEAST};
    const char *source = choose_mtbf(report, &costs.mtbf), *field;
    double period;

    if (!find_costs(report, &costs, &period) || tic_interval_costs_check(&costs, &field) != 0)
        return json_null();
    json_t *answer = tic_waste_json(&costs, costs.mtbf, period > costs.t_c ? period : 0);
    json_object_update_new(answer, json_pack("{s:f, s:f, s:f, s:s}", "tc", costs.t_c, "tl",
                                             costs.t_l, "mtbf", costs.mtbf, "mtbf_is", source));
    return answer;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* The last that told of itself; a run that is killed at once does not. */
static const struct tic_traced_run *told_run(const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;

    for (unsigned long i = traced->runs.count; i-- > 0;)
        if (traced->runs.items[i].started)
            return &traced->runs.items[i];
    return NULL;
}

static json_t *head_json(const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;
    const struct tic_traced_run *run = told_run(report);
    const char *program = report->lines.program ? report->lines.program : run ? run->program : "";
    const char *arguments = report->lines.arguments ? report->lines.arguments
                            : run                   ? run->arguments
                                                    : "";
    const char *directory = report->directory ? report->directory : traced->directory;

    return json_pack("{s:s, s:b, s:f, s:f, s:i, s:o, s:o, s:o, s:b, s:o, s:o}", "version",
                     PACKAGE_VERSION, "traced", (int)report->has_trace, "begun", traced->origin,
                     "seconds", traced->end, "workers", traced->workers, "program",
                     tic_json_text(program), "arguments", tic_json_text(arguments), "directory",
                     text_or_null(directory), "is_there", report->directory != NULL, "running",
                     report->directory ? json_boolean(tic_ask_is_used(report->directory))
                                       : json_null(),
                     "no_restart", reason_json(last_run(report)));
}

void tic_report_print_json(FILE *out, const struct tic_report *report)
{
    const size_t flags = JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17) | JSON_EMBED;
    const struct tic_traced *traced = &report->traced;
    json_t *head = head_json(report);
    json_t *rest = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:O?, s:o}", "runs", runs_json(traced),
        "crashes", crashes_json(traced), "checkpoints", checkpoints_json(traced), "tasks",
        tasks_json(traced), "records_left_out", (json_int_t)traced->dropped, "full",
        (int)traced->full, "messages", messages_json(traced), "lines", lines_json(&report->lines),
        "data", data_json(report), "codelets", names_json(traced), "statistics", report->stats,
        "interval", interval_json(report));

    json_object_update_new(head, rest);
    fputs("{", out);
    json_dumpf(head, out, flags);
    fputs(",\n\"executed\": [", out);
    print_executions(out, traced);
    fputs("],\n\"stalls\": [", out);
    print_stalls(out, traced);
    fputs("]}\n", out);
    json_decref(head);
}
