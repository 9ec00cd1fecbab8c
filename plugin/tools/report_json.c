/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report as a JSON object: the numbers behind its pictures. */
#include <math.h>

#include "tools/report_parts.h"

static json_t *real_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *runs_json(const struct tic_traced *traced)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < traced->runs.count; i++) {
        const struct tic_traced_run *run = &traced->runs.items[i];
        json_array_append_new(
            list, json_pack("{s:f, s:f, s:o, s:b, s:i, s:i, s:i, s:I, s:I}", "begin", run->begin,
                            "end", run->last, "first_task", real_or_null(run->first_task), "ended",
                            (int)run->ended, "status", run->status, "signal", run->signal,
                            "workers", (int)run->workers, "line", (json_int_t)run->line,
                            "tasks_done", (json_int_t)run->tasks_done));
    }
    return list;
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

void tic_report_print_json(FILE *out, const struct tic_report *report)
{
    const struct tic_traced *traced = &report->traced;
    json_t *answer = json_pack(
        "{s:b, s:f, s:f, s:i, s:o, s:o, s:o, s:o, s:I, s:b}", "traced", (int)report->has_trace,
        "begun", traced->origin, "seconds", traced->end, "workers", traced->workers, "runs",
        runs_json(traced), "crashes", crashes_json(traced), "checkpoints", checkpoints_json(traced),
        "tasks", tasks_json(traced), "records_left_out", (json_int_t)traced->dropped, "full",
        (int)traced->full);

    json_dumpf(answer, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    fputc('\n', out);
    json_decref(answer);
}
