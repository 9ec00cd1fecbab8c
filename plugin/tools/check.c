/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic check: tells before any failure whether a program can be protected. It runs the
 * program twice with a report each (interpose/report.c), the second time with the time() and the
 * like of the first, and compares what must not differ. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/tool.h"

enum { CHECK_YES = 0, CHECK_NO = 1, CHECK_FAILED = 3 };

/* ---- running -------------------------------------------------------------------------------- */

static void set_environment(const char *directory, int run)
{
    char path[PATH_MAX + 32];

    for (const char *const *name = (const char *const[]){"EVERY", "FAIL", "KEEP", "STATS", NULL};
         *name; name++) {
        snprintf(path, sizeof(path), "STARPU_TIC_%s", *name);
        unsetenv(path);
    }
    setenv("STARPU_TIC_PROTOCOL", "tic", 1);
    setenv("STARPU_TIC_DIR", directory, 1);
    snprintf(path, sizeof(path), "%s.run%d", directory, run);
    setenv("STARPU_TIC_REPORT", path, 1);
    snprintf(path, sizeof(path), "%s.run1", directory);
    setenv("STARPU_TIC_EVENTS", run > 1 ? path : "", 1);
}

/* The status as the shell has it, or -1. */
static int run_program(char **argv, const char *directory, int run)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        set_environment(directory, run);
        if (tic_tool_preload() != 0)
            _exit(127);
        execvp(argv[0], argv);
        fprintf(stderr, "starpu-tic: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static json_t *load_report(const char *directory, int run)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s.run%d", directory, run);
    return json_load_file(path, 0, NULL);
}

/* ---- telling -------------------------------------------------------------------------------- */

static void tell_features(const json_t *report)
{
    json_t *entry;
    size_t i;

    puts("The program has:");
    json_array_foreach(json_object_get(report, "features"), i, entry)
        printf("  %10lld %s\n", json_integer_value(json_array_get(entry, 1)),
               json_string_value(json_array_get(entry, 0)));
}

static void tell_counted(json_t *object, const char *title, const char *unit)
{
    const char *key;
    json_t *value;

    if (json_object_size(object) == 0)
        return;
    printf("%s\n", title);
    json_object_foreach(object, key, value)
        printf("  %s (%lld%s)\n", key, json_integer_value(value), unit);
}

static bool tell_problems(json_t *report)
{
    json_t *problems = json_object_get(report, "problems");

    tell_counted(problems,
                 "These end protection; what is before the first of them counts only:", " times");
    return json_object_size(problems) > 0;
}

/* Index of the first entry that differs, or -1. */
static long first_difference(const json_t *first, const json_t *second, const char *list)
{
    json_t *a = json_object_get(first, list), *b = json_object_get(second, list);
    size_t count =
        json_array_size(a) < json_array_size(b) ? json_array_size(a) : json_array_size(b);

    for (size_t i = 0; i < count; i++)
        if (!json_equal(json_array_get(a, i), json_array_get(b, i)))
            return (long)i;
    return json_array_size(a) == json_array_size(b) ? -1 : (long)count;
}

/* A handle whose hash differs, or NULL. */
static const char *find_other_hash(const json_t *first, const json_t *second, const char *object)
{
    json_t *a = json_object_get(first, object), *b = json_object_get(second, object), *hash;
    const char *id;

    json_object_foreach(a, id, hash) if (!json_equal(hash, json_object_get(b, id))) return id;
    return NULL;
}

/* True when a restart would be stopped. */
static bool tell_differences(const json_t *first, const json_t *second)
{
    long signature = first_difference(first, second, "signatures");
    const char *input = find_other_hash(first, second, "inputs");
    const char *data = find_other_hash(first, second, "data");
    bool spawned =
        !json_equal(json_object_get(first, "spawned"), json_object_get(second, "spawned"));

    if (signature >= 0)
        printf("Two runs differ: main() submits other tasks from submission %ld on (counted from "
               "0). A restart would be stopped there.\n",
               signature);
    if (spawned)
        puts("Two runs differ: callbacks, tasks or threads submit other tasks. A restart would be "
             "stopped at its end.");
    if (input)
        printf("Two runs differ: handle %s (number of registration) holds other data when a task "
               "first reads it. A restart would be refused; STARPU_TIC_INPUTS=0 allows it.\n",
               input);
    if (data && signature < 0 && !spawned && !input)
        printf("Note: two runs have other results, as in handle %s (number of "
               "registration): they vary by themselves, as sums do that are added in another "
               "order. A restart gives one of the possible results.\n",
               data);
    return signature >= 0 || input || spawned;
}

static int tell(json_t *first, json_t *second)
{
    tell_features(first);
    tell_counted(json_object_get(first, "effects"),
                 "Tasks that write no data are executed again in a restart, with what they read "
                 "before (STARPU_TIC_RERUN=0 skips them):",
                 " tasks");
    tell_counted(json_object_get(first, "pointers"),
                 "Tasks get pointers in their arguments. If their kernels write through them, a "
                 "restart misses that; registered data has no such risk:",
                 " tasks");
    bool ends = tell_problems(first), differs = tell_differences(first, second);
    puts(ends || differs ? "It cannot be protected as it is." : "It can be protected.");
    return ends || differs ? CHECK_NO : CHECK_YES;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int check(char **argv, const char *directory)
{
    for (int run = 1; run <= 2; run++) {
        int status = run_program(argv, directory, run);
        if (status != 0) {
            fprintf(stderr, "starpu-tic: run %d of 2 ended with status %d: nothing can be said\n",
                    run, status);
            return CHECK_FAILED;
        }
    }
    json_t *first = load_report(directory, 1), *second = load_report(directory, 2);
    int result = CHECK_FAILED;
    if (first && second)
        result = tell(first, second);
    else
        fputs("starpu-tic: the program does not start StarPU, or does not shut it down: nothing "
              "can be said\n",
              stderr);
    json_decref(first);
    json_decref(second);
    return result;
}

static void clean(const char *directory)
{
    char path[PATH_MAX + 32];

    for (int run = 1; run <= 2; run++) {
        snprintf(path, sizeof(path), "%s.run%d", directory, run);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/p0.lock", directory);
    unlink(path);
    rmdir(directory);
}

int tic_tool_check(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    const char *temporary = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char directory[PATH_MAX];
    int option;

    while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
        if (option != 'h')
            return tic_tool_usage("check", TIC_TOOL_USAGE);
        tic_tool_usage("check", TIC_TOOL_OK);
        puts("\nThe program runs twice, unprotected; nothing is saved. Its output is not changed,\n"
             "and the report comes after it. Exit status: 0 it can be protected, 1 it cannot, 3 "
             "the\n"
             "program failed, or does not use StarPU.");
        return TIC_TOOL_OK;
    }
    if (optind >= argc)
        return tic_tool_usage("check", TIC_TOOL_USAGE);
    snprintf(directory, sizeof(directory), "%s/starpu-tic-check-XXXXXX", temporary);
    if (!mkdtemp(directory)) {
        fprintf(stderr, "starpu-tic: cannot make a directory in %s: %s\n", temporary,
                strerror(errno));
        return CHECK_FAILED;
    }
    int result = check(argv + optind, directory);
    clean(directory);
    return result;
}
