/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic report: one HTML page about a run, from what its directory, its trace and its
 * statistics hold. What is not recorded is left out, with a word how to have it. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/forced.h"
#include "tools/arguments.h"
#include "tools/draw.h"
#include "tools/events.h"
#include "tools/jobs.h"
#include "tools/json_text.h"
#include "tools/report_parts.h"
#include "tools/tool.h"
#include "tools/traced.h"

/* ---- without a trace ------------------------------------------------------------------------- */

/* The event log as a trace: of tasks that it holds, when they ran. */

/* Names of tasks by number, as main() created them. */
struct names {
    unsigned *of;
    uint64_t count;
};

static int load_names(const struct tic_events *events, struct tic_traced *traced,
                      struct names *names)
{
    char name[TIC_EVENT_NAME];

    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].kind == TIC_LOGGED_CREATED && events->items[i].count > 0 &&
            events->items[i].words[0] >= names->count &&
            events->items[i].words[0] < TIC_LOG_MOST_TASKS)
            names->count = events->items[i].words[0] + 1;
    unsigned none = tic_traced_name(traced, "");
    names->of = malloc((names->count + 1) * sizeof(*names->of));
    if (!names->of || none == UINT32_MAX)
        return -ENOMEM;
    for (uint64_t i = 0; i < names->count; i++)
        names->of[i] = none;
    for (size_t i = 0; i < events->count; i++)
        if (tic_event_name(&events->items[i], name) && events->items[i].words[0] < names->count)
            names->of[events->items[i].words[0]] = tic_traced_name(traced, name);
    return 0;
}

/* Seconds since the first event. */
static double time_of(const struct tic_events *events, uint64_t nanoseconds)
{
    return (double)(int64_t)(nanoseconds - events->items[0].time) * 1e-9;
}

static int add_run(struct tic_traced *traced, double time)
{
    struct tic_traced_run *run = tic_traced_add(&traced->runs);

    if (run)
        *run = (struct tic_traced_run){
            .begin = time, .last = time, .first_task = NAN, .from_cut = NAN};
    return run ? 0 : -ENOMEM;
}

static int add_task(struct tic_traced *traced, const struct tic_events *events,
                    const struct names *names, const struct tic_log_record *record)
{
    enum { MOST_WORKERS = 4096 };
    struct tic_forced forced;

    if (!tic_forced_decode(record, &forced) || (uint32_t)forced.workers >= MOST_WORKERS)
        return 0;
    struct tic_traced_task *task = tic_traced_add(&traced->tasks);
    if (!task)
        return -ENOMEM;
    *task = (struct tic_traced_task){
        .begin = time_of(events, forced.started),
        .end = time_of(events, record->time),
        .number = forced.sequence,
        .run = (unsigned)traced->runs.count - 1,
        .name = forced.sequence < names->count ? names->of[forced.sequence] : 0,
        .worker = (int)(uint32_t)forced.workers,
        .victim = (int)(forced.workers >> 32) - 1};
    return 0;
}

static int take_events(struct tic_traced *traced, const struct tic_events *events,
                       const struct names *names)
{
    int status = add_run(traced, 0);
    bool has_run = false; /* some records may come before that of the first run */

    for (size_t i = 0; i < events->count && status == 0; i++) {
        const struct tic_log_record *record = &events->items[i];
        double time = time_of(events, record->time);
        if (record->kind == TIC_LOGGED_RUN && has_run)
            status = add_run(traced, time);
        else
            status = add_task(traced, events, names, record);
        has_run |= record->kind == TIC_LOGGED_RUN;
        if (status == 0)
            traced->runs.items[traced->runs.count - 1].last = time;
    }
    return status;
}

/* A log without runs leaves the trace empty. 0 or -errno. */
static int tic_logged_read(struct tic_store *store, struct tic_traced *traced)
{
    struct tic_events events = {0};
    struct names names = {0};
    int status = tic_events_load(store, &events);

    if (status == 0 && events.count > 0) {
        status = load_names(&events, traced, &names);
        status = status ? status : take_events(traced, &events, &names);
        traced->origin = (double)events.items[0].time * 1e-9;
    }
    free(names.of);
    tic_events_clear(&events);
    return status;
}

#define LONGEST 1e12 /* s */
#define NO_TRACE "this is no trace (run --trace FILE)"

static const char help[] =
    "\n  -o, --output FILE   the page (report.html)\n"
    "      --trace FILE    what STARPU_TIC_TRACE has written (the environment's)\n"
    "      --stats FILE    what STARPU_TIC_STATS has written (the environment's)\n"
    "  -j, --json          the numbers as a JSON object on standard output, instead of a page\n"
    "      --mtbf SECONDS  mean time between faults, for the models of the interval: as the\n"
    "                      run was told, or as its crashes tell\n\n"
    "Without a trace, tasks are shown as far as the event log holds them. PATH may be a\n"
    "trace: a program that has ended leaves no directory. The page of a job of several ranks\n"
    "has a lane for each of them; their traces are FILE.p0, FILE.p1 and so on.";

struct paths {
    const char *path, *output, *trace, *stats;
    double mtbf;
    bool as_json;
};

static bool take_mtbf(const char *value, void *to)
{
    return tic_option_seconds(value, DBL_MIN, LONGEST, to);
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct paths *paths)
{
    const struct tic_option options[] = {{"output", 'o', tic_option_text, &paths->output},
                                         {"trace", 0, tic_option_text, &paths->trace},
                                         {"stats", 0, tic_option_text, &paths->stats},
                                         {"mtbf", 0, take_mtbf, &paths->mtbf},
                                         {"json", 'j', NULL, &paths->as_json},
                                         {0}};
    int status = tic_options_read(argc, argv, options, false, help);

    if (status >= 0)
        return status;
    if (optind + 1 != argc)
        return tic_tool_usage("report", TIC_TOOL_USAGE);
    paths->path = argv[optind];
    return -1;
}

static bool is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* A directory of another run has nothing in this trace: then the event log is what there is. */
static int read_trace(const struct paths *paths, struct tic_report *report)
{
    const char *trace = is_file(paths->path) ? paths->path : paths->trace;
    char *directory =
        trace == paths->path ? NULL : realpath(paths->path, NULL); /* as traces name it */
    int status = trace && trace[0] ? tic_traced_read(trace, directory, &report->traced) : -ENOENT;

    report->has_trace = status == 0;
    if (status == -ENOENT && trace == paths->path) {
        fprintf(stderr, "starpu-tic: %s: %s, and no directory of a run\n", trace, NO_TRACE);
        status = -ENODATA;
    } else if (status && trace && trace[0])
        fprintf(stderr, "starpu-tic: %s: %s\n", trace,
                status == -ENOENT && is_file(trace) ? "no run of this directory is in it"
                                                    : strerror(-status));
    free(directory);
    return trace == paths->path ? status : 0;
}

/* Who writes which data, by the event log; without one nothing is known. */
static void read_writers(struct tic_report *report)
{
    struct tic_events events = {0};
    char name[TIC_EVENT_NAME], number[32];

    report->writers = json_object();
    if (tic_events_load(&report->store, &events) != 0)
        events.count = 0;
    for (size_t i = 0; i < events.count; i++)
        for (size_t k = 0; k < tic_event_accesses(&events.items[i]); k++)
            if (tic_event_writes(&events.items[i], k) && tic_event_name(&events.items[i], name)) {
                snprintf(number, sizeof(number), "%llu",
                         (unsigned long long)tic_event_data(&events.items[i], k));
                json_object_set_new(report->writers, number, tic_json_text(name));
            }
    tic_events_clear(&events);
}

static int read_directory(const struct paths *paths, struct tic_report *report)
{
    bool given = !is_file(paths->path);
    const char *path = given ? paths->path : report->traced.directory;
    int status = path ? tic_tool_open_store(&report->store, path) : -ENOENT;

    if (status == 0) {
        report->is_open = true;
        report->directory = path;
        status = tic_saved_read(&report->store, &report->lines);
    }
    if (status == 0)
        read_writers(report);
    if (status == 0 && !report->has_trace)
        status = tic_logged_read(&report->store, &report->traced);
    if (status == 0 && given && !report->has_trace && !tic_arguments_is_run(path)) {
        fprintf(stderr, "starpu-tic: %s: %s, and no directory of a run\n", path, NO_TRACE);
        return -ENODATA;
    }
    if (status && given)
        tic_arguments_cannot_read(path, status);
    return given && !(status == -ENOENT && report->has_trace) ? status : 0;
}

static void read_statistics(const struct paths *paths, struct tic_report *report)
{
    report->stats = paths->stats && paths->stats[0] && is_file(paths->stats)
                        ? json_load_file(paths->stats, 0, NULL)
                        : NULL;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* An exit status. */
static int read_all(const struct paths *paths, struct tic_report *report)
{
    *report = (struct tic_report){.mtbf = paths->mtbf};
    int status = read_trace(paths, report);
    status = status ? status : read_directory(paths, report);
    if (status)
        return status == -ENODATA ? TIC_TOOL_USAGE : TIC_TOOL_FAILED;
    if (tic_traced_derive(&report->traced) != 0) {
        fprintf(stderr, "starpu-tic: out of memory\n");
        return TIC_TOOL_FAILED;
    }
    read_statistics(paths, report);
    return TIC_TOOL_OK;
}

static void clear(struct tic_report *report)
{
    json_decref(report->stats);
    json_decref(report->writers);
    tic_saved_clear(&report->lines);
    if (report->is_open)
        tic_store_close(&report->store);
    tic_traced_clear(&report->traced);
}

static void write_data(FILE *out, const void *report)
{
    tic_report_print_json(out, report);
}

/* Without a page there are tables. */
static int write_page(const char *path, const struct tic_report *report)
{
    FILE *page = tic_draw("report", write_data, report);

    if (!page)
        tic_report_print_text(stdout, report);
    return tic_draw_put(page, path);
}

/* ---- several ranks: the reports of all in one object ------------------------------------------
 */

static bool has_rank(const char *trace, unsigned rank, char *path)
{
    return trace && trace[0] && snprintf(path, PATH_MAX, "%s.p%u", trace, rank) < PATH_MAX &&
           is_file(path);
}

static bool is_job(const char *path)
{
    char first[PATH_MAX];

    return tic_arguments_is_job(path) || has_rank(path, 0, first);
}

/* False: there is no such rank. */
static bool find_rank(const struct paths *job, unsigned rank, struct paths *paths, char *folder,
                      char *trace)
{
    bool is_directory = tic_arguments_is_job(job->path);
    bool has_trace = has_rank(is_directory ? job->trace : job->path, rank, trace);
    struct stat info;

    tic_job_folder(job->path, tic_job_newest_generation(job->path), rank, folder);
    bool has_folder = is_directory && stat(folder, &info) == 0;
    *paths = (struct paths){
        .path = has_folder ? folder : trace, .trace = has_trace ? trace : NULL, .mtbf = job->mtbf};
    return has_folder || (has_trace && !is_directory);
}

static int print_ranks(FILE *out, const struct paths *job)
{
    char folder[PATH_MAX], trace[PATH_MAX];
    static struct tic_report report;
    struct paths paths;
    int status = TIC_TOOL_OK;

    for (unsigned rank = 0; status == TIC_TOOL_OK && find_rank(job, rank, &paths, folder, trace);
         rank++) {
        status = read_all(&paths, &report);
        if (status == TIC_TOOL_OK) {
            fputs(rank > 0 ? ",\n" : "", out);
            tic_report_print_json(out, &report);
        }
        clear(&report);
    }
    return status;
}

static int print_job(FILE *out, const struct paths *job)
{
    struct tic_jobs jobs;
    json_t *lines = tic_jobs_read(job->path, &jobs) ? tic_jobs_json(&jobs) : json_array();
    json_t *path = tic_json_text(job->path);

    tic_jobs_clear(&jobs);
    fputs("{\"path\": ", out);
    json_dumpf(path, out, JSON_ENCODE_ANY);
    fputs(", \"version\": \"" PACKAGE_VERSION "\", \"job_lines\": ", out);
    json_dumpf(lines, out, JSON_PRESERVE_ORDER);
    fputs(",\n\"ranks\": [", out);
    int status = print_ranks(out, job);
    fputs("]}\n", out);
    json_decref(lines);
    json_decref(path);
    return status;
}

static void write_text(FILE *out, const void *text)
{
    fputs(text, out);
}

static int report_job(const struct paths *job)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int status = out ? print_job(out, job) : TIC_TOOL_FAILED;

    if (out && fclose(out) != 0)
        status = TIC_TOOL_FAILED;
    if (status == TIC_TOOL_OK && job->as_json)
        fputs(text, stdout);
    else if (status == TIC_TOOL_OK)
        status = tic_draw_put(tic_draw("report", write_text, text), job->output);
    free(text);
    return status;
}

int tic_tool_report_page(int argc, char **argv)
{
    struct paths paths = {.output = "report.html",
                          .trace = getenv("STARPU_TIC_TRACE"),
                          .stats = getenv("STARPU_TIC_STATS")};
    static struct tic_report report;
    int status = parse_options(argc, argv, &paths);

    if (status >= 0)
        return status;
    if (is_job(paths.path))
        return report_job(&paths);
    status = read_all(&paths, &report);
    if (status == TIC_TOOL_OK && paths.as_json)
        tic_report_print_json(stdout, &report);
    else if (status == TIC_TOOL_OK)
        status = write_page(paths.output, &report);
    clear(&report);
    return status;
}
