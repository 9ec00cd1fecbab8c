/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/line.h"
#include "tools/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/near.h"
#include "base/numbers.h"
#include "tools/tool.h"

/* ---- values of options ----------------------------------------------------------------------- */

static const struct {
    const char *option, *words;
} values[] = {
    {"backoff", "seconds, from 0 to 86400"},
    {"cpus", "numbers of CPU workers, with commas between them"},
    {"keep", "a whole number from 1 on"},
    {"kills", "a whole number from 1 to 100000"},
    {"line", "the number of a recovery line"},
    {"max-restarts", "a whole number from 0 on"},
    {"mtbf", "seconds, above 0"},
    {"period", "seconds, above 0"},
    {"protocol", "tic, sel or tic+sel"},
    {"seed", "a whole number from 0 on"},
    {"timeout", "seconds, from 0 on"},
    {"type", "float, int or uint"},
};

/* Says what it must be. */
static int refuse(const char *command, const struct tic_option *option, const char *value)
{
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (strcmp(values[i].option, option->name) == 0)
            fprintf(stderr, "starpu-tic: --%s %s: it must be %s\n", option->name, value,
                    values[i].words);
    fprintf(stderr, "`starpu-tic %s --help` tells more\n", command);
    return TIC_TOOL_USAGE;
}

bool tic_option_text(const char *value, void *to)
{
    *(const char **)to = value;
    return true;
}

bool tic_option_seconds(const char *value, double least, double most, double *to)
{
    return tic_numbers_seconds(value, to) && *to >= least && *to <= most;
}

/* ---- options --------------------------------------------------------------------------------- */

enum { MOST_OPTIONS = 16, FIRST = 256 };

static bool take(const struct tic_option *option, const char *value)
{
    if (option->take)
        return option->take(value, option->to);
    return *(bool *)option->to = true;
}

/* NULL: there is none. */
static const struct tic_option *find(const struct tic_option *options, int chosen)
{
    if (chosen >= FIRST)
        return &options[chosen - FIRST];
    while (options->name && options->letter != chosen)
        options++;
    return options->name ? options : NULL;
}

/* As getopt wants them. */
static void list_options(const struct tic_option *options, struct option *list, char *letters)
{
    for (int i = 0; options[i].name; i++) {
        const int argument = options[i].take ? required_argument : no_argument;
        list[i] = (struct option){options[i].name, argument, NULL, FIRST + i};
        if (options[i].letter)
            letters += sprintf(letters, argument ? "%c:" : "%c", options[i].letter);
    }
}

/* An option that is none: what may have been meant. argument: of the command line. */
static void tell_near(const char *argument, const struct tic_option *options)
{
    const char *name = strncmp(argument, "--", 2) == 0 ? argument + 2 : "";

    for (; options->name && *name; options++)
        if (tic_near(name, strcspn(name, "="), options->name)) {
            fprintf(stderr, "Did you mean --%s?\n", options->name);
            return;
        }
}

int tic_options_read(int argc, char **argv, const struct tic_option *options, bool starts,
                     const char *text)
{
    struct option list[MOST_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    char letters[2 * MOST_OPTIONS + 3] = "+h";
    int chosen;

    list_options(options, list + 1, letters + 2);
    while ((chosen = getopt_long(argc, argv, letters + !starts, list, NULL)) != -1) {
        if (chosen == 'h') {
            tic_tool_usage(argv[0], TIC_TOOL_OK);
            if (text)
                puts(text);
            return TIC_TOOL_OK;
        }
        const struct tic_option *option = find(options, chosen);
        if (!option) {
            tell_near(argv[optind - 1], options);
            return tic_tool_usage(argv[0], TIC_TOOL_USAGE);
        }
        if (!take(option, optarg))
            return refuse(argv[0], option, optarg);
    }
    return -1;
}

/* ---- directories ----------------------------------------------------------------------------- */

bool tic_arguments_is_run(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    bool is_run = false;

    while (directory && !is_run && (entry = readdir(directory)))
        is_run = strncmp(entry->d_name, "p0-", 3) == 0 || strncmp(entry->d_name, "p0.l", 4) == 0;
    if (directory)
        closedir(directory);
    return is_run;
}

bool tic_arguments_is_job(const char *path)
{
    char first[PATH_MAX];
    struct stat info;

    tic_job_folder(path, tic_job_newest_generation(path), 0, first);
    return stat(first, &info) == 0 && S_ISDIR(info.st_mode);
}

void tic_arguments_cannot_read(const char *path, int status)
{
    fprintf(stderr, "starpu-tic: cannot read %s: %s%s\n", path, strerror(-status),
            status == -ENOENT
                ? ". A run makes its directory when it begins, and removes it when it ends well"
            : status == -ENOTDIR ? ". Name the directory of a run"
            : status == -EISDIR  ? " of several ranks. Name the folder of one, such as p0 in it"
                                 : "");
}

/* Those of the current folder: how many, or -1 after a message. */
static int find_here(glob_t *found)
{
    int status = glob("*.tic/", 0, NULL, found);

    if (status != 0 && status != GLOB_NOMATCH)
        fputs("starpu-tic: cannot read the current folder\n", stderr);
    else if (found->gl_pathc != 1)
        fprintf(stderr, "starpu-tic: name a directory of recovery lines: %s\n",
                found->gl_pathc == 0 ? "there is no *.tic here" : "there are several *.tic here");
    return found->gl_pathc == 1 ? 1 : -1;
}

int tic_arguments_each(int count, char **paths, bool plain, tic_arguments_visit visit, void *arg)
{
    glob_t found = {0};
    int worst = TIC_TOOL_OK;

    if (count == 0) {
        count = find_here(&found);
        paths = found.gl_pathv;
        if (count == 1)
            paths[0][strlen(paths[0]) - 1] = '\0'; /* the slash */
    }
    for (int i = 0; i < count; i++) {
        if (plain && count > 1)
            printf("%s%s:\n", i > 0 ? "\n" : "", paths[i]);
        int status = visit(paths[i], arg);
        worst = status > worst ? status : worst;
    }
    globfree(&found);
    return count < 0 ? TIC_TOOL_USAGE : worst;
}

struct reporting {
    int (*report)(const char *path, bool as_json);
    bool as_json;
};

static int report_one(const char *path, void *arg)
{
    const struct reporting *reporting = arg;

    return reporting->report(path, reporting->as_json);
}

int tic_tool_report(int argc, char **argv, int (*report)(const char *path, bool as_json),
                    bool is_file)
{
    struct reporting reporting = {.report = report};
    const struct tic_option options[] = {{"json", 'j', NULL, &reporting.as_json}, {0}};
    int status = tic_options_read(argc, argv, options, false, NULL);

    if (status >= 0)
        return status;
    if (is_file && optind == argc)
        return tic_tool_usage(argv[0], TIC_TOOL_USAGE);
    return tic_arguments_each(argc - optind, argv + optind, !reporting.as_json, report_one,
                              &reporting);
}
