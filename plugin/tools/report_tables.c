/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of a report: recovery lines, the largest data, messages. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "tools/page.h"
#include "tools/report_parts.h"
#include "tools/scale.h"

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_line(FILE *out, const struct tic_saved_line *line)
{
    char done[TIC_SCALE_TEXT], submitted[TIC_SCALE_TEXT], bytes[TIC_SCALE_TEXT], when[64] = "";
    time_t created = (time_t)line->created;
    struct tm local;

    if (line->created > 0)
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime_r(&created, &local));
    tic_scale_count(done, line->tasks_done);
    tic_scale_count(submitted, line->tasks_submitted);
    tic_scale_bytes(bytes, (double)line->bytes);
    fprintf(out,
            "<tr><td class=\"n\">%llu</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
            "<td class=\"n\">%llu</td><td class=\"n\">%s</td><td class=\"%s\">%s</td></tr>\n",
            (unsigned long long)line->number, when, done, submitted,
            (unsigned long long)line->handles, bytes, line->status == 0 ? "ok" : "bad",
            tic_store_reason(line->status));
}

void tic_report_print_lines(FILE *out, const struct tic_report *report)
{
    if (!report->directory)
        return;
    tic_page_section(out, "Recovery lines in the directory",
                     report->lines.count > 0
                         ? "A restart begins with the newest undamaged one. Values were not read; "
                           "<code>starpu-tic verify</code> does that."
                         : "There are none.");
    if (report->lines.count > 0) {
        fputs("<div class=\"scroll\"><table><tr><th class=\"n\">line</th><th>taken</th><th "
              "class=\"n\">tasks done</th><th class=\"n\">submitted by then</th><th class=\"n\">"
              "data</th><th class=\"n\">size</th><th>state</th></tr>\n",
              out);
        for (unsigned long i = 0; i < report->lines.count; i++)
            print_line(out, &report->lines.items[i]);
        fputs("</table></div>\n", out);
    }
    tic_page_section_end(out);
}

/* ---- data ----------------------------------------------------------------------------------- */

static const struct tic_line *sorted_line; /* one thread */

static int by_size(const void *a, const void *b)
{
    uint64_t x = tic_saved_value_bytes(sorted_line, a), y = tic_saved_value_bytes(sorted_line, b);

    return x != y
               ? (x > y ? -1 : 1)
               : (((const struct tic_line_value *)a)->id > ((const struct tic_line_value *)b)->id) -
                     (((const struct tic_line_value *)a)->id <
                      ((const struct tic_line_value *)b)->id);
}

static void print_value(FILE *out, const struct tic_line *line, const struct tic_line_value *value,
                        uint64_t most)
{
    struct tic_shape shape = tic_line_extent_shape(&line->extents[value->extent]);
    uint64_t bytes = tic_shape_bytes(&shape);
    char text[TIC_SCALE_TEXT], size[128], times[40] = "never written by a task";

    if (value->version > 0)
        snprintf(times, sizeof(times), "written %llu time%s", (unsigned long long)value->version,
                 value->version == 1 ? "" : "s");
    tic_scale_bytes(text, (double)bytes);
    tic_saved_shape_text(size, sizeof(size), &shape);
    fprintf(out, "<div>data %llu", (unsigned long long)value->id);
    tic_page_text(out, tic_name_of(value->id));
    fprintf(out,
            "</div><div class=\"bar\"><i class=\"mark\" style=\"width:%.2f%%\"></i></div><div "
            "class=\"value\">%s: %s, %s</div>\n",
            most > 0 ? 100.0 * (double)bytes / (double)most : 0, text, size, times);
}

void tic_report_print_data(FILE *out, const struct tic_report *report)
{
    enum { MOST = 12 };
    const struct tic_line *line = &report->lines.newest;
    size_t count = report->lines.has_newest ? line->value_count : 0;
    struct tic_line_value *values = count > 0 ? malloc(count * sizeof(*values)) : NULL;
    char what[200], bytes[TIC_SCALE_TEXT];
    uint64_t all = 0;

    if (!values)
        return;
    memcpy(values, line->values, count * sizeof(*values));
    sorted_line = line;
    qsort(values, count, sizeof(*values), by_size);
    for (size_t i = 0; i < count; i++)
        all += tic_saved_value_bytes(line, &values[i]);
    tic_scale_bytes(bytes, (double)all);
    snprintf(what, sizeof(what),
             "The largest %zu of %zu in line %llu, %s in all. Data has the number of its "
             "registration.",
             count < MOST ? count : (size_t)MOST, count, (unsigned long long)line->number, bytes);
    tic_page_section(out, "Largest data", what);
    fputs("<div class=\"bars data\">\n", out);
    for (size_t i = 0; i < count && i < MOST; i++)
        print_value(out, line, &values[i], tic_saved_value_bytes(line, &values[0]));
    fputs("</div>\n", out);
    tic_page_section_end(out);
    free(values);
}

/* ---- messages ------------------------------------------------------------------------------- */

void tic_report_print_messages(FILE *out, const struct tic_report *report)
{
    enum { MOST = 200 };
    const struct tic_traced *traced = &report->traced;
    unsigned long count = traced->messages.count, first = count > MOST ? count - MOST : 0;

    if (!report->has_trace || count == 0)
        return;
    tic_page_section(out, "Messages", "Warnings and errors are red.");
    fputs("<div class=\"scroll\"><table class=\"messages\"><tr><th class=\"n\">run</th><th "
          "class=\"n\">at</th><th>message</th></tr>\n",
          out);
    for (unsigned long i = first; i < count; i++) {
        const struct tic_traced_message *message = &traced->messages.items[i];
        char at[TIC_SCALE_TEXT];
        tic_scale_duration(at, message->at);
        fprintf(out, "<tr><td class=\"n\">%u</td><td class=\"n\">%s</td><td class=\"text%s\">",
                message->run + 1, at, message->level == 0 ? " bad" : "");
        tic_page_text(out, message->text);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
    tic_page_section_end(out);
}
