/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic list: a line of text for each recovery line. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "tools/arguments.h"
#include "tools/jobs.h"
#include "tools/json_text.h"
#include "tools/saved.h"
#include "tools/scale.h"
#include "tools/tool.h"

static double age_of(const struct tic_saved_line *line)
{
    double age = (double)tic_nanoseconds(CLOCK_REALTIME) * 1e-9 - line->created;

    return age > 0 ? age : 0;
}

static json_t *line_json(const struct tic_saved_line *line)
{
    json_t *entry =
        json_pack("{s:I, s:s, s:b, s:s}", "number", (json_int_t)line->number, "file", line->file,
                  "readable", line->status == 0, "state", tic_store_reason(line->status));

    if (line->created > 0)
        json_object_update_new(
            entry, json_pack("{s:f, s:f, s:I, s:I, s:I, s:I}", "created", line->created, "age",
                             age_of(line), "tasks_done", (json_int_t)line->tasks_done,
                             "tasks_submitted", (json_int_t)line->tasks_submitted, "handles",
                             (json_int_t)line->handles, "bytes", (json_int_t)line->bytes));
    return entry;
}

static void print_json(const struct tic_saved_lines *lines, const char *path)
{
    json_t *list = json_array();

    for (unsigned long i = 0; i < lines->count; i++)
        json_array_append_new(list, line_json(&lines->items[i]));
    json_t *answer = json_pack("{s:o, s:o}", "path", tic_json_text(path), "lines", list);
    tic_json_print(answer, 17);
}

static void print_line(const struct tic_saved_line *line)
{
    char age[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT], bytes[TIC_SCALE_TEXT], data[TIC_SCALE_TEXT];

    if (line->status != 0 && line->created == 0) {
        printf("%8llu  %s: %s\n", (unsigned long long)line->number, line->file,
               tic_store_reason(line->status));
        return;
    }
    tic_scale_duration(age, age_of(line));
    tic_scale_count(done, line->tasks_done);
    tic_scale_count(data, line->handles);
    tic_scale_bytes(bytes, (double)line->bytes);
    printf("%8llu  %12s  %14s  %10s  %10s%s%s\n", (unsigned long long)line->number, age, done, data,
           bytes, line->status ? "  " : "", line->status ? tic_store_reason(line->status) : "");
}

static void print_plain(const struct tic_saved_lines *lines, const char *path)
{
    if (lines->count == 0) {
        printf("no recovery line in %s\n", path);
        return;
    }
    printf("%8s  %12s  %14s  %10s  %10s\n", "line", "age", "tasks done", "data", "size");
    for (unsigned long i = 0; i < lines->count; i++)
        print_line(&lines->items[i]);
}

static int list_lines(const char *path, bool as_json)
{
    struct tic_saved_lines lines = {0};
    struct tic_store store;
    struct tic_jobs jobs;

    if (tic_jobs_read(path, &jobs)) {
        tic_jobs_tell(&jobs, path, as_json);
        return TIC_TOOL_OK;
    }
    int status = tic_tool_open_store(&store, path);

    if (status == 0) {
        status = tic_saved_read(&store, &lines);
        tic_store_close(&store);
    }
    if (status) {
        tic_arguments_cannot_read(path, status);
        return TIC_TOOL_FAILED;
    }
    if (as_json)
        print_json(&lines, path);
    else
        print_plain(&lines, path);
    tic_saved_clear(&lines);
    return TIC_TOOL_OK;
}

int tic_tool_list(int argc, char **argv)
{
    return tic_tool_report(argc, argv, list_lines, false);
}
