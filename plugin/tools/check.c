/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic check: tells before any failure whether a program can be protected. It runs the
 * program twice with a report each (report/report.c), the second time with the time() and the
 * like of the first, and compares what must not differ. In the second run memory that it has never
 * written holds other bytes (report/perturb.c), and the pages of registered data are closed to
 * main() (report/pages.c). If it fails it is repeated without the one, then without both; if it
 * differs, also in results alone, there is a third run, with other bytes. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/line.h"
#include "tools/arguments.h"
#include "tools/reach.h"
#include "tools/tool.h"
#include "tools/touched.h"
#include "tools/written.h"
#include "tools/input.h"

/* What a run meets: other bytes in memory that it has never set; and, beside, data that is closed
 * to main(). */
enum tic_check_conditions { TIC_CHECK_PLAIN, TIC_CHECK_PERTURBED, TIC_CHECK_CLOSED };

/* ---- runs ------------------------------------------------------------------------------------ */

/* The runs of starpu-tic check. */

static void path_of(const char *directory, const char *end, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%s.%s", directory, end);
}

/* Before the first run. False after a message. */
/* All runs read the same standard input, but for a terminal, which may answer each of them. */
static bool tic_check_save_input(const char *directory)
{
    char path[PATH_MAX + 32];
    bool any;

    path_of(directory, "input", path);
    return isatty(STDIN_FILENO) || tic_input_save(path, &any);
}

static bool give_input(const char *directory)
{
    char path[PATH_MAX + 32];

    path_of(directory, "input", path);
    return isatty(STDIN_FILENO) || tic_input_give(path);
}

static void set_environment(const char *directory, int run, enum tic_check_conditions conditions)
{
    char path[PATH_MAX + 32];

    for (const char *const *name =
             (const char *const[]){"EVERY", "FAIL", "KEEP", "STATS", "TRACE", "WRITES", NULL};
         *name; name++) {
        snprintf(path, sizeof(path), "STARPU_TIC_%s", *name);
        unsetenv(path);
    }
    setenv("STARPU_TIC_PROTOCOL", "tic", 1);
    setenv("STARPU_TIC_DIR", directory, 1);
    snprintf(path, sizeof(path), "%s.run%d", directory, run);
    setenv("STARPU_TIC_REPORT", path, 1);
    path_of(directory, "writes", path);
    if (run == 1)
        setenv("STARPU_TIC_WRITES", path, 1);
    snprintf(path, sizeof(path), "%s.run1", directory);
    setenv("STARPU_TIC_EVENTS", run > 1 ? path : "", 1);
    setenv("STARPU_TIC_PAGES", "0", 1);
    if (conditions >= TIC_CHECK_PERTURBED)
        setenv("MALLOC_PERTURB_", "165", 1);
    for (const char *const *variable = tic_tool_closed_run;
         conditions == TIC_CHECK_CLOSED && *variable; variable++)
        putenv((char *)*variable);
}

/* What the program prints is there once: that of later runs goes to a file, which is shown if they
 * fail. */
static bool hide_output(const char *directory)
{
    char path[PATH_MAX + 32];

    path_of(directory, "output", path);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    return file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && dup2(file, STDERR_FILENO) >= 0;
}

static void tic_check_show_output(const char *directory)
{
    char path[PATH_MAX + 32];
    int c;

    path_of(directory, "output", path);
    FILE *file = fopen(path, "r");
    while (file && (c = getc(file)) != EOF)
        putc(c, stderr);
    if (file)
        fclose(file);
}

static int tic_check_run(char **argv, const char *directory, int run,
                         enum tic_check_conditions conditions)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        set_environment(directory, run, conditions);
        if ((run > 1 && !hide_output(directory)) || !give_input(directory) ||
            tic_tool_preload(argv[0]) != 0)
            _exit(127);
        execvp(argv[0], argv);
        fprintf(stderr, "starpu-tic: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void tic_check_clean(const char *directory)
{
    char path[PATH_MAX + 32];

    for (int run = 1; run <= 3; run++) {
        snprintf(path, sizeof(path), "%s.run%d", directory, run);
        unlink(path);
    }
    path_of(directory, "input", path);
    unlink(path);
    path_of(directory, "output", path);
    unlink(path);
    path_of(directory, "writes", path);
    unlink(path);
    snprintf(path, sizeof(path), "%s/p0.lock", directory);
    unlink(path);
    rmdir(directory);
}

enum { CHECK_YES = 0, CHECK_NO = 1, CHECK_FAILED = 3 };

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

/* The submission of a task that writes other content into excluded data, or -1. Both runs need not
 * know all of them. */
static long long find_other_content(const json_t *first, const json_t *second)
{
    json_t *a = json_object_get(first, "remade"), *b = json_object_get(second, "remade"), *hash;
    const char *id;

    json_object_foreach(a, id, hash)
    {
        const json_t *other = json_object_get(b, id);
        if (other && !json_equal(hash, other))
            return atoll(id) / TIC_LINE_INPUT_BUFFERS;
    }
    return -1;
}

/* Callbacks, tasks or threads. */
static bool submit_other_tasks(const json_t *first, const json_t *second)
{
    return !json_equal(json_object_get(first, "spawned"), json_object_get(second, "spawned"));
}

static bool has_differences(const json_t *first, const json_t *second)
{
    return first_difference(first, second, "signatures") >= 0 ||
           find_other_hash(first, second, "inputs") || submit_other_tasks(first, second) ||
           find_other_content(first, second) >= 0;
}

static bool has_other_results(const json_t *first, const json_t *second)
{
    return find_other_hash(first, second, "data") != NULL;
}

/* Why they are others cannot be told from two runs. */
static void tell_other_results(const json_t *first, const json_t *second)
{
    printf(
        "Note: two runs have other results, as in handle %s (number of registration). Where only "
        "the order differs in which the same numbers are added, a restart gives one of the "
        "possible results. Where anything else does, the program is not piecewise deterministic, "
        "and a restart may give a result that no run gives. That is the order of submissions (by "
        "threads, addresses or callbacks), the clock, random numbers, or memory that was never "
        "written. `starpu-tic rehearse` compares restarts. What to do: let main() submit the same "
        "tasks with the same arguments in the same order each time.\n",
        find_other_hash(first, second, "data"));
}

/* True when a restart would be stopped. */
static bool tell_differences(const json_t *first, const json_t *second)
{
    long signature = first_difference(first, second, "signatures");
    const char *input = find_other_hash(first, second, "inputs");
    bool spawned = submit_other_tasks(first, second);
    long long content = find_other_content(first, second);

    if (signature >= 0)
        printf("Two runs differ: main() submits other tasks from submission %ld on (counted from "
               "0). A restart would be stopped there.\n",
               signature);
    if (spawned)
        puts("Two runs differ: callbacks, tasks or threads submit other tasks. A restart would be "
             "stopped at its end.");
    if (input)
        printf("Two runs differ: handle %s (number of registration) holds other data when a task "
               "first reads it (as memory does that was never written). A restart goes on with the "
               "recorded content, not with its own, or is "
               "refused where that is gone; STARPU_TIC_INPUTS=ignore trusts that it does not "
               "matter.\n",
               input);
    if (content >= 0)
        printf("Two runs differ: the task of submission %lld (counted from 0) writes other content "
               "into data that no recovery line holds (starpu_tic_data_exclude). A restart, which "
               "executes it again, would be stopped there. Its kernel must compute the same from "
               "the data that it declares, and set all of it, or the data must not be excluded.\n",
               content);
    if (has_other_results(first, second) && !has_differences(first, second))
        tell_other_results(first, second);
    return has_differences(first, second);
}

static void advise(const json_t *report, const char *chosen)
{
    char *path = tic_tool_leave_advice(report, chosen, false);

    if (path)
        printf("What to do: call starpu_data_acquire before these accesses and "
               "starpu_data_release after them, or keep the file %s, which runs of the same "
               "command read.\n",
               path);
    free(path);
}

/* Functions that a program finds for itself (dlsym) are not ours. */
static bool saw_no_task(const json_t *report)
{
    return json_array_size(json_object_get(report, "signatures")) == 0 &&
           json_object_size(json_object_get(report, "spawned")) == 0;
}

/* What the second run did, and a third did not, whose data was not closed. */
static void tell_slow(const json_t *first, const json_t *second)
{
    if (has_differences(first, second))
        puts("Note: the program did something else in the run in which its data was closed to it, "
             "as it was slower, but not in a third run. Its results may vary with the speed of "
             "main(). Where it goes by such results, a restart may be stopped. `starpu-tic "
             "rehearse` tells more.");
    else
        tell_other_results(first, second);
}

static bool tell_unregistered(const json_t *first)
{
    const char *found = json_string_value(json_object_get(first, "unregistered"));

    const char *left_out = json_string_value(json_object_get(first, "left_out"));
    const char *undeclared = json_string_value(json_object_get(first, "undeclared"));
    const char *packed_of = json_string_value(json_object_get(first, "packed_of_callback"));
    const char *addresses = json_string_value(json_object_get(first, "addresses"));
    const json_t *packed = json_object_get(first, "packed");

    if (json_object_get(first, "mpi"))
        puts("Note: it was run as one process. Several MPI ranks need STARPU_TIC_RANKS=try "
             "(`starpu-tic explain mpi`).");
    if (json_object_get(first, "callbacks"))
        puts("Note: what callbacks read by pointers, of data that is not small (STARPU_TIC_LOOKS), "
             "is not looked for here: `starpu-tic rehearse` tells whether it matters.");
    if (packed)
        printf(
            "Note: main() goes on after it has waited for tasks, and has data that its interface "
            "packs (the first: data %llu, by number of registration). It is not looked here for "
            "what it writes there by its pointers, or reads of data that is not small "
            "(STARPU_TIC_LOOKS), without starpu_data_acquire. That may be something else in a "
            "restart: `starpu-tic rehearse` tells whether it matters.\n",
            (unsigned long long)json_integer_value(packed));
    if (undeclared && undeclared[0])
        printf("Note: %s. What callbacks read of data that their tasks do not declare may be "
               "something else in a restart: `starpu-tic rehearse` tells whether it matters.\n",
               undeclared);
    if (packed_of && packed_of[0])
        printf(
            "Note: %s. What callbacks read of such data by their pointers is not logged, and may "
            "be something else in a restart: `starpu-tic rehearse` tells whether it matters.\n",
            packed_of);
    if (addresses && addresses[0])
        printf("Data holds addresses: %s. What lies there is in no recovery line: a restart that "
               "has to give such data back is refused.\n",
               addresses);
    if (left_out && left_out[0])
        printf("Note: %s. What tasks write there is lost in a restart, and not found here.\n",
               left_out);
    if (!found || !found[0])
        return addresses && addresses[0];
    printf("Tasks write memory that is not registered data: %s. A restart would leave it as main() "
           "has made it, and is refused. Register it, or set STARPU_TIC_POINTERS=trust if nobody "
           "needs what is there.\n",
           found);
    return true;
}

/* How many files the program writes. */
static size_t tell_written(const char *directory)
{
    struct tic_written written = {.ignored = {"starpu-tic-check-*"}, .ignored_count = 1};
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s.writes", directory);
    tic_written_load(&written, path);
    size_t count = written.count;
    if (count > 0)
        puts("The program writes files:");
    for (size_t i = 0; i < count; i++)
        printf("  %s (%s)\n", written.files[i].name, written.files[i].writers);
    tic_written_free(&written);
    return count;
}

static void tell_good(bool files, bool varies, bool unwatched)
{
    static const char *const ends[] = {
        ".",
        "; its files were not compared: `starpu-tic rehearse` compares them.",
        "; main() was not watched throughout: `starpu-tic rehearse` tells more.",
        "; its files were not compared, nor was main() watched throughout: `starpu-tic rehearse` "
        "tells more.",
    };

    printf("%s can be protected%s%s\n", files ? "Its data" : "It",
           varies ? ", if results differ by the order of sums only" : "",
           ends[(unwatched ? 2 : 0) + (files ? 1 : 0)]);
}

/* third: of a run whose data was not closed, if the second, whose data was, differs. */
static int tell(json_t *first, json_t *second, json_t *third, enum tic_check_conditions conditions,
                const char *directory, const char *advice)
{
    puts("\n---- starpu-tic check ----"); /* the program's output is above */
    tell_features(first);
    tell_counted(json_object_get(first, "effects"),
                 "Tasks that write no data are executed again in a restart, with what they read "
                 "before (STARPU_TIC_RERUN=0 skips them, if nobody needs what they did):",
                 " tasks");
    tell_counted(json_object_get(first, "pointers"),
                 "Tasks get pointers in their arguments. If their kernels write through them, a "
                 "restart misses that; registered data has no such risk:",
                 " tasks");
    const size_t files = tell_written(directory);
    const bool unregistered = tell_unregistered(first);
    if (conditions == TIC_CHECK_CLOSED) {
        tic_tool_tell_touched(second);
        advise(second, advice);
    } else {
        puts("Note: the program fails while its data is closed to it, so that it could not be "
             "looked for what main() reads or writes without starpu_data_acquire.");
    }
    const json_t *last = third ? third : second;
    bool varies = has_other_results(first, second) || has_other_results(first, last);
    if (third && !has_differences(first, third) && !has_other_results(first, third))
        tell_slow(first, second);
    bool ends = tell_problems(first) || unregistered || conditions == TIC_CHECK_PLAIN;
    if (conditions == TIC_CHECK_PLAIN)
        puts("The program fails where memory that it has never set, or has given back, holds other "
             "bytes (MALLOC_PERTURB_=165), as in a restart. valgrind tells where it uses it.");
    if (!ends && saw_no_task(first)) {
        puts("No task was seen. Either there is none, or the program finds StarPU's functions for "
             "itself (dlsym), past starpu-tic: then it is not protected.");
        return CHECK_FAILED;
    }
    bool differs = tell_differences(first, last);
    if (ends || differs)
        puts("It cannot be protected as it is.");
    else
        tell_good(files > 0, varies,
                  conditions != TIC_CHECK_CLOSED || !tic_tool_has_watched_all(second) ||
                      json_object_get(first, "packed"));
    if (!ends && !differs && conditions == TIC_CHECK_CLOSED &&
        !tic_tool_has_touched(second)) /* else it is there: runs need not warn again */
        free(tic_tool_leave_advice(second, advice, true));
    return ends || differs ? CHECK_NO : CHECK_YES;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* *conditions: what the second run met. 0, or a status after a message. */
static int run_twice(char **argv, const char *directory, enum tic_check_conditions *conditions)
{
    int run = 1, status = tic_check_run(argv, directory, run, TIC_CHECK_PLAIN);

    *conditions = TIC_CHECK_CLOSED;
    if (status == 0)
        status = tic_check_run(argv, directory, ++run, *conditions);
    while (run > 1 && status != 0 && *conditions > TIC_CHECK_PLAIN)
        status = tic_check_run(argv, directory, run, --*conditions);
    if (status != 0 && run > 1)
        tic_check_show_output(directory);
    if (status != 0)
        fprintf(stderr, "starpu-tic: run %d of 2 ended with status %d: nothing can be said\n", run,
                status);
    return status;
}

static int check(char **argv, const char *directory, const char *advice)
{
    enum tic_check_conditions conditions;

    if (!tic_tool_may_preload() || !tic_check_save_input(directory) ||
        run_twice(argv, directory, &conditions) != 0)
        return CHECK_FAILED;
    json_t *first = load_report(directory, 1), *second = load_report(directory, 2), *third = NULL;
    int result = CHECK_FAILED;
    if (first && second && conditions == TIC_CHECK_CLOSED &&
        (has_differences(first, second) || has_other_results(first, second)) &&
        tic_check_run(argv, directory, 3, TIC_CHECK_PERTURBED) == 0)
        third = load_report(directory, 3);
    if (first && second)
        result = tell(first, second, third, conditions, directory, advice);
    else
        fputs("starpu-tic: the program does not start StarPU, or does not end by exit(): nothing "
              "can be said\n",
              stderr);
    json_decref(first);
    json_decref(second);
    json_decref(third);
    return result;
}

static const char help[] =
    "\n  -a, --advice FILE      file for advice; default: the directory of a run with .advice\n\n"
    "The program runs twice, unprotected, with the same standard input; nothing is saved.\n"
    "In the second run memory that it has not written holds other bytes. Its output is\n"
    "that of the first run, and the report comes after it. A file with advice is\n"
    "written, so that runs do not warn of what was told. Exit status: 0 it can be\n"
    "protected, 1 it cannot, 3 the program failed, or does not use StarPU.";

int tic_tool_check(int argc, char **argv)
{
    const char *temporary = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", *advice = NULL;
    const struct tic_option options[] = {{"advice", 'a', tic_option_text, &advice}, {0}};
    char directory[PATH_MAX];
    int status = tic_options_read(argc, argv, options, true, help);

    if (status >= 0)
        return status;
    if (optind == argc)
        return tic_tool_usage("check", TIC_TOOL_USAGE);
    if (tic_reach_is_parallel(argv[optind], "check"))
        return CHECK_FAILED;
    snprintf(directory, sizeof(directory), "%s/starpu-tic-check-XXXXXX", temporary);
    if (!mkdtemp(directory)) {
        fprintf(stderr, "starpu-tic: cannot make a directory in %s: %s\n", temporary,
                strerror(errno));
        return CHECK_FAILED;
    }
    int result = check(argv + optind, directory, advice);
    tic_check_clean(directory);
    return result;
}
