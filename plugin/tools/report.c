/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic report: one HTML page about a run, from what its directory, its trace and its
 * statistics hold. What is not recorded is left out, with a word how to have it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/numbers.h"
#include "tools/arguments.h"
#include "tools/logged.h"
#include "tools/report_parts.h"
#include "tools/tool.h"

#define LONGEST 1e12 /* s */
#define NO_TRACE "this is no trace (run --trace FILE)"

static void print_help(void)
{
    tic_tool_usage("report", TIC_TOOL_OK);
    puts(
        "\n  -o, --output FILE   the page (report.html)\n"
        "      --trace FILE    what STARPU_TIC_TRACE has written (the environment's)\n"
        "      --stats FILE    what STARPU_TIC_STATS has written (the environment's)\n"
        "  -j, --json          the numbers as a JSON object on standard output, instead of a page\n"
        "      --mtbf SECONDS  mean time between faults, for the models of the interval: as the\n"
        "                      run was told, or as its crashes tell\n\n"
        "Without a trace, tasks are shown as far as the event log holds them. PATH may be a\n"
        "trace: a program that has ended leaves no directory.");
}

struct paths {
    const char *path, *output, *trace, *stats;
    double mtbf;
    bool as_json;
};

static bool parse_option(int option, struct paths *paths)
{
    char *end;

    switch (option) {
    case 'o':
        paths->output = optarg;
        return true;
    case 't':
        paths->trace = optarg;
        return true;
    case 's':
        paths->stats = optarg;
        return true;
    case 'j':
        return paths->as_json = true;
    default:
        paths->mtbf = tic_numbers_parse(optarg, &end);
        return end != optarg && *end == '\0' && paths->mtbf > 0 && paths->mtbf <= LONGEST;
    }
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct paths *paths)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"trace", required_argument, NULL, 't'},
                                            {"stats", required_argument, NULL, 's'},
                                            {"mtbf", required_argument, NULL, 'm'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;

    while ((option = getopt_long(argc, argv, "o:jh", options, NULL)) != -1) {
        if (option == 'h') {
            print_help();
            return TIC_TOOL_OK;
        }
        if (option != '?' && parse_option(option, paths))
            continue;
        return option == '?' ? tic_tool_usage("report", TIC_TOOL_USAGE)
                             : tic_arguments_refuse("report", options, option, optarg);
    }
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

/* As traces name it. NULL: no memory, or it is not there any more. */
static char *absolute(const char *path)
{
    return realpath(path, NULL);
}

/* A directory of another run has nothing in this trace: then the event log is what there is. */
static int read_trace(const struct paths *paths, struct tic_report *report)
{
    const char *trace = is_file(paths->path) ? paths->path : paths->trace;
    char *directory = trace == paths->path ? NULL : absolute(paths->path);
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

static int read_directory(const struct paths *paths, struct tic_report *report)
{
    bool given = !is_file(paths->path);
    const char *path = given ? paths->path : report->traced.directory;
    int status = path ? tic_tool_open_store(&report->store, path) : -ENOENT;

    if (status == 0) {
        report->is_open = true;
        report->directory = path;
        status = tic_saved_read(&report->store, TIC_SAVED_NAMES, &report->lines);
    }
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

static int write_page(const char *path, const struct tic_report *report)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

    if (!out) {
        fprintf(stderr, "starpu-tic: cannot write %s: %s\n", path, strerror(errno));
        return TIC_TOOL_FAILED;
    }
    tic_report_print(out, report);
    int status = ferror(out) ? EIO : 0;
    if (out != stdout && fclose(out) != 0)
        status = errno;
    if (status)
        fprintf(stderr, "starpu-tic: cannot write %s: %s\n", path, strerror(status));
    return status ? TIC_TOOL_FAILED : TIC_TOOL_OK;
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
    report.mtbf = paths.mtbf;
    status = read_trace(&paths, &report);
    status = status ? status : read_directory(&paths, &report);
    status = status == -ENODATA ? TIC_TOOL_USAGE : status ? TIC_TOOL_FAILED : TIC_TOOL_OK;
    if (status == TIC_TOOL_OK && tic_traced_derive(&report.traced) != 0) {
        fprintf(stderr, "starpu-tic: out of memory\n");
        status = TIC_TOOL_FAILED;
    }
    if (status == TIC_TOOL_OK && paths.as_json) {
        tic_report_print_json(stdout, &report);
    } else if (status == TIC_TOOL_OK) {
        read_statistics(&paths, &report);
        status = write_page(paths.output, &report);
    }
    json_decref(report.stats);
    tic_saved_clear(&report.lines);
    if (report.is_open)
        tic_store_close(&report.store);
    tic_traced_clear(&report.traced);
    return status;
}
