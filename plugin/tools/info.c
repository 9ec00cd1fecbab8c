/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic info: what the recovery lines of a directory hold. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "store/forced.h"
#include "store/mark.h"
#include "store/mirror.h"
#include "store/store.h"
#include "tools/arguments.h"
#include "tools/jobs.h"
#include "tools/json_text.h"
#include "tools/tool.h"

struct report {
    struct tic_store *store;
    json_t *lines;    /* NULL: plain words */
    const char *copy; /* path within the directory, with a slash; or "" */
    unsigned found, good;
};

static uint64_t value_bytes(const struct tic_line *line)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < line->value_count; i++) {
        const struct tic_line_extent *extent = &line->extents[line->values[i].extent];
        struct tic_shape shape = tic_line_extent_shape(extent);
        bytes += tic_shape_bytes(&shape);
    }
    return bytes;
}

/* ---- rows that values share ------------------------------------------------------------------ */

struct row {
    uint64_t file, place, bytes;
};

struct row_list {
    struct row *items;
    unsigned long count, capacity;
    bool failed;
};

static void note_row(struct row_list *list, struct row row)
{
    list->failed |= tic_append(list->items, list->count, list->capacity, &row) != 0;
}

/* Bytes of the rows, each once; frees the list. */
static uint64_t distinct_bytes(struct row_list *list)
{
    uint64_t bytes = 0;

    list->count = tic_sort_once(list->items, list->count, tic_line_by_two_numbers);
    for (unsigned long i = 0; i < list->count; i++)
        bytes += list->items[i].bytes;
    free(list->items);
    return bytes;
}

/* What the row takes in its file, which may be compressed; what it would take, if that cannot be
 * read. */
static uint64_t bytes_in_file(const struct tic_store *store, const struct tic_line_extent *extent,
                              uint32_t row)
{
    struct tic_place place = tic_payload_place(extent, row, -1);
    struct tic_chunk_key key;
    uint64_t bytes;

    if (place.key)
        place.fd = tic_store_peek_segment(store, extent->segment);
    int status = tic_payload_size(&place, &key, &bytes);
    if (place.fd >= 0)
        close(place.fd);
    return status == 0 ? bytes : tic_shape_bytes(&place.shape);
}

static uint64_t stored_bytes(const struct tic_store *store, const struct tic_line *line)
{
    struct row_list rows = {0};

    for (size_t i = 0; i < line->value_count; i++) {
        const struct tic_line_value *value = &line->values[i];
        const struct tic_line_extent *extent = &line->extents[value->extent];
        note_row(&rows,
                 (struct row){value->extent, value->row, bytes_in_file(store, extent, value->row)});
    }
    return distinct_bytes(&rows);
}

/* How many times what is stored the values are. */
static double ratio(uint64_t bytes, uint64_t stored)
{
    return stored > 0 ? (double)bytes / (double)stored : 1;
}

static json_t *arguments_of(const struct tic_line *line)
{
    json_t *list = json_array();
    for (size_t at = 0; at < line->arguments.size; at += strlen(line->arguments.text + at) + 1)
        json_array_append_new(list, tic_json_text(line->arguments.text + at));
    return list;
}

/* Data that the program has named. */
static json_t *names_of(const struct tic_line *line)
{
    json_t *list = json_array();

    for (size_t at = 0; at < line->known.names.size;
         at += strlen(line->known.names.text + at) + 1) {
        char *name;
        unsigned long long id = strtoull(line->known.names.text + at, &name, 10);
        json_array_append_new(
            list, json_pack("{s:I, s:o}", "data", (json_int_t)id, "name", tic_json_text(name + 1)));
    }
    return list;
}

static json_t *seconds_or_null(uint64_t nanoseconds)
{
    return nanoseconds > 0 ? json_real((double)nanoseconds * 1e-9) : json_null();
}

/* A cost of 0 may have been measured; a latency may not. */
static json_t *cost_or_null(const struct tic_account *account)
{
    return account->latency > 0 ? json_real((double)account->cost * 1e-9) : json_null();
}

static void print_pace(const struct tic_account *account)
{
    if (account->period == 0)
        return;
    printf("  period %g s", (double)account->period * 1e-9);
    if (account->latency > 0)
        printf("; a checkpoint costs the program %.3g s, and is committed %.3g s after its cut",
               (double)account->cost * 1e-9, (double)account->latency * 1e-9);
    putchar('\n');
}

static void add_json(const struct report *report, const char *name, int status,
                     const struct tic_line *line)
{
    json_t *entry = json_pack("{s:s, s:b, s:s}", "file", name, "good", status == 0, "state",
                              tic_store_reason(status));
    if (line->version) {
        json_t *more = json_pack(
            "{s:I, s:f, s:s, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", //
            "number", (json_int_t)line->number, "created", line->created, "program", line->program,
            "arguments", arguments_of(line), "directory", line->directory, "host", line->host,
            "version", line->version, "starpu", line->starpu, //
            "workers", (json_int_t)line->workers, "tasks_done", (json_int_t)line->tasks_done,
            "tasks_submitted", (json_int_t)line->tasks_submitted, "handles",
            (json_int_t)line->value_count, "bytes", (json_int_t)value_bytes(line), "stored_bytes",
            (json_int_t)stored_bytes(report->store, line), "runs", (json_int_t)line->account.runs);
        json_object_update(entry, more);
        json_decref(more);
        json_object_set_new(entry, "names", names_of(line));
        json_object_set_new(entry, "period", seconds_or_null(line->account.period));
        json_object_set_new(entry, "checkpoint_cost", cost_or_null(&line->account));
        json_object_set_new(entry, "checkpoint_latency", seconds_or_null(line->account.latency));
    }
    json_array_append_new(report->lines, entry);
}

/* The place of the commit point, and the variables of main() that the line holds. */
static void print_point(const struct tic_line_point *point)
{
    size_t at = 0;

    if (point->number == 0)
        return;
    printf("  commit point %llu (%s); variables:", (unsigned long long)point->number,
           point->names.text);
    while ((at += strlen(point->names.text + at) + 1) < point->names.size) {
        const char *name = strchr(point->names.text + at, ' ');
        printf(" %s", name ? name + 1 : "?");
    }
    printf(" (%zu bytes)\n", point->bytes.count);
}

static void print_names(const struct tic_line_text *names)
{
    enum { MOST = 8 };
    size_t count = 0;

    for (size_t at = 0; at < names->size; at += strlen(names->text + at) + 1, count++) {
        const char *name = strchr(names->text + at, ' ');
        if (count < MOST)
            printf("%s %.*s \"%s\"",
                   count > 0 ? "," : "  names of data:", (int)(name - names->text - at),
                   names->text + at, name + 1);
    }
    if (count > MOST)
        printf(", and %zu more", count - MOST);
    if (count > 0)
        putchar('\n');
}

static void print_plain(const struct report *report, const char *name, int status,
                        const struct tic_line *line)
{
    char when[64] = "";
    time_t created = (time_t)line->created;
    struct tm local;

    printf("%s: %s\n", name, tic_store_reason(status));
    if (!line->version)
        return;
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime_r(&created, &local));
    printf("  taken %s on %s, %llu workers, starpu-tic %s, StarPU %s\n  program %s", when,
           line->host, (unsigned long long)line->workers, line->version, line->starpu,
           line->program);
    for (size_t at = 0; at < line->arguments.size; at += strlen(line->arguments.text + at) + 1)
        printf(" %s", line->arguments.text + at);
    uint64_t bytes = value_bytes(line), stored = stored_bytes(report->store, line);
    printf("\n  %llu tasks done of %llu submitted so far; %zu handles, %llu bytes",
           (unsigned long long)line->tasks_done, (unsigned long long)line->tasks_submitted,
           line->value_count, (unsigned long long)bytes);
    if (stored < bytes)
        printf(", %llu bytes stored (%.2f : 1)", (unsigned long long)stored, ratio(bytes, stored));
    putchar('\n');
    if (line->on.machine[0])
        printf("  written on %s, %s-endian\n", line->on.machine,
               line->on.big_endian ? "big" : "little");
    print_point(&line->point);
    print_names(&line->known.names);
    print_pace(&line->account);
}

static bool report_line(void *arg, const char *file, int status, struct tic_line *line)
{
    struct report *report = arg;
    char name[128];

    snprintf(name, sizeof(name), "%s%s", report->copy, file);
    if (status == 0)
        status = tic_store_check(report->store, line);
    report->found++;
    report->good += status == 0;
    if (report->lines)
        add_json(report, name, status, line);
    else
        print_plain(report, name, status, line);
    return false;
}

/* What the event log holds beside the lines. */
struct log_report {
    uint64_t events, created, started, finished, bytes, value_bytes;
    uint64_t last_file, files;
    struct row_list rows;  /* of these values */
    uint64_t stored_bytes; /* by them */
};

static bool count_event(void *arg, const struct tic_log_record *record)
{
    struct log_report *log = arg;
    struct tic_forced forced;

    log->events++;
    log->files += record->file != log->last_file;
    log->last_file = record->file;
    log->bytes += (record->count + TIC_LOG_HEAD_WORDS) * 8;
    log->created += record->kind == TIC_LOGGED_CREATED;
    log->started += record->kind == TIC_LOGGED_STARTED;
    if (tic_forced_decode(record, &forced)) {
        log->finished++;
        for (uint64_t i = 0; i < forced.count; i++) {
            const struct tic_forced_output *output = &forced.outputs[i];
            log->value_bytes += output->bytes;
            note_row(&log->rows, (struct row){output->segment, output->offset, output->bytes});
        }
    }
    return true;
}

/* Only SEL logs what is created; whether with lines every period, they tell themselves. */
static const char *protocol_of(const struct log_report *log)
{
    return log->created == 0 ? "tic" : "sel";
}

static json_t *log_json(const struct log_report *log)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "protocol", protocol_of(log),
                     "files", (json_int_t)log->files, "bytes", (json_int_t)log->bytes, "events",
                     (json_int_t)log->events, "tasks_created", (json_int_t)log->created,
                     "tasks_started", (json_int_t)log->started, "tasks_finished",
                     (json_int_t)log->finished, "value_bytes", (json_int_t)log->value_bytes,
                     "stored_bytes", (json_int_t)log->stored_bytes);
}

static void print_log(const struct log_report *log)
{
    if (log->events > 0)
        printf("event log (%s): %llu events in %llu files, %llu bytes; %llu tasks created, %llu "
               "started, %llu finished with %llu bytes of values, %llu bytes stored (%.2f : 1)\n",
               protocol_of(log), (unsigned long long)log->events, (unsigned long long)log->files,
               (unsigned long long)log->bytes, (unsigned long long)log->created,
               (unsigned long long)log->started, (unsigned long long)log->finished,
               (unsigned long long)log->value_bytes, (unsigned long long)log->stored_bytes,
               ratio(log->value_bytes, log->stored_bytes));
}

static int look_at(const char *path, const char *copy, struct report *report,
                   struct log_report *log)
{
    struct tic_store store;
    int status = tic_tool_open_store(&store, path);

    if (status)
        return status;
    report->store = &store;
    report->copy = copy;
    status = tic_store_walk(&store, report_line, report);
    status = status ? status : tic_eventlog_walk(&store, count_event, log);
    tic_store_close(&store);
    return status;
}

/* Of a directory of copies (STARPU_TIC_COPY). */
static void look_at_copy(const char *path, unsigned copy, struct report *report,
                         struct log_report *log)
{
    char *of_copy = tic_mirror_path(path, copy), *name = tic_mirror_path("", copy);
    char prefix[8];

    if (of_copy && name) {
        snprintf(prefix, sizeof(prefix), "%s/", name + 1);
        look_at(of_copy, prefix, report, log);
    }
    free(of_copy);
    free(name);
}

static int report_directory(const char *path, bool as_json)
{
    struct report report = {.lines = as_json ? json_array() : NULL};
    struct log_report log = {0};
    struct tic_jobs jobs;

    if (tic_jobs_read(path, &jobs)) {
        json_decref(report.lines);
        return tic_jobs_tell(&jobs, path, as_json);
    }
    int status = look_at(path, "", &report, &log);

    for (unsigned i = 0; i < TIC_COPIES && status == 0; i++)
        look_at_copy(path, i, &report, &log);
    log.stored_bytes = distinct_bytes(&log.rows);
    if (status == 0 && log.rows.failed)
        status = -ENOMEM;
    bool unregistered = tic_mark_is_set(path);
    if (status)
        tic_arguments_cannot_read(path, status);
    else if (as_json)
        json_dumpf(json_pack_ex(NULL, 0, "{s:o, s:O, s:o, s:b}", "path", tic_json_text(path),
                                "lines", report.lines, "log", log_json(&log), "unregistered_writes",
                                unregistered),
                   stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    if (status == 0 && as_json)
        putchar('\n');
    if (status == 0 && !as_json && report.found == 0)
        printf("no recovery line in %s\n", path);
    if (status == 0 && !as_json)
        print_log(&log);
    if (status == 0 && !as_json && unregistered)
        puts("tasks write memory that is not registered data: a restart is refused, but with "
             "STARPU_TIC_POINTERS=trust");
    json_decref(report.lines);
    return status == 0 && report.good == report.found ? TIC_TOOL_OK : TIC_TOOL_FAILED;
}

int tic_tool_info(int argc, char **argv)
{
    return tic_tool_report(argc, argv, report_directory, false);
}
