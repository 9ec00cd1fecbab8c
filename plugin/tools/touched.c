/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For starpu-tic check and rehearse: data that main() touches by plain pointers, in words, and as
 * advice. */
#include "tools/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As in the report (report/touched.h). */
enum { READS = 1, WRITES = 2 };

const char *const tic_tool_closed_run[] = {
    "STARPU_TIC_PAGES=1",
    /* glibc gives each piece of a page or more pages of its own: else those at both ends of an
     * array are shared with other pieces, and cannot be closed. */
    "MALLOC_MMAP_THRESHOLD_=4096",
    "MALLOC_TOP_PAD_=0",      /* what is left of the heap is used before */
    "MALLOC_MMAP_MAX_=16384", /* a quarter of what the kernel allows */
    NULL,
};

bool tic_tool_has_touched(const json_t *report)
{
    return json_array_size(json_object_get(report, "touched_data")) > 0;
}

/* ---- lines of sources ----------------------------------------------------------------------- */

/* addr2line, which prints the function and then file:line. NULL when it does not start. */
static FILE *start_resolver(const char *object, const char *address, pid_t *child)
{
    const char *const arguments[] = {"addr2line", "-f", "-e", object, address, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int status =
        posix_spawnp(child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = status == 0 ? fdopen(ends[0], "r") : NULL;
    if (!output)
        close(ends[0]);
    return output;
}

/* "FILE:LINE (FUNCTION)", or NULL when it cannot be told. */
static char *find_line(const json_t *place)
{
    const char *object = json_string_value(json_object_get(place, "object"));
    char address[24], function[256] = "", line[4096] = "", *text = NULL;
    pid_t child;

    snprintf(address, sizeof(address), "0x%llx",
             (unsigned long long)json_integer_value(json_object_get(place, "offset")));
    FILE *output = object ? start_resolver(object, address, &child) : NULL;
    if (!output)
        return NULL;
    bool complete = fscanf(output, "%255s %4095s", function, line) == 2;
    fclose(output);
    waitpid(child, NULL, 0);
    const char *slash = strrchr(line, '/');
    const char *colon = strrchr(line, ':');
    if (!complete || line[0] == '?' || !colon || colon[1] == '?' || colon[1] == '0' ||
        asprintf(&text, "%s (%s)", slash ? slash + 1 : line, function) < 0)
        return NULL;
    return text;
}

/* ---- plain words ---------------------------------------------------------------------------- */

static const char *verb(bool reads, bool writes)
{
    return reads && writes ? "reads and writes" : writes ? "writes" : "reads";
}

/* The same for another piece of data? */
static bool is_same(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"object", "offset", "after", "reads", "writes", "main"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (!json_equal(json_object_get(a, members[i]), json_object_get(b, members[i])))
            return false;
    return true;
}

/* Places from `from` to before `to`. */
static size_t count_same(const json_t *places, size_t from, size_t to, const json_t *place)
{
    size_t count = 0;

    for (size_t i = from; i < to; i++)
        count += is_same(json_array_get(places, i), place);
    return count;
}

/* others: the same place touches other data, too. */
static void tell_place(const json_t *place, bool others)
{
    const char *where = json_string_value(json_object_get(place, "place"));
    char *line = find_line(place);

    printf("  %s %s data %lld (%lld bytes)%s by its pointer, without starpu_data_acquire, at %s, "
           "after %s\n",
           json_is_true(json_object_get(place, "main")) ? "main()" : "another thread",
           verb(json_is_true(json_object_get(place, "reads")),
                json_is_true(json_object_get(place, "writes"))),
           json_integer_value(json_object_get(place, "id")),
           json_integer_value(json_object_get(place, "bytes")), others ? ", and other data," : "",
           line    ? line
           : where ? where
                   : "an unknown place",
           json_string_value(json_object_get(place, "after")));
    free(line);
}

static long long number(const json_t *report, const char *list, size_t at)
{
    return json_integer_value(json_array_get(json_object_get(report, list), at));
}

bool tic_tool_has_watched_all(const json_t *report)
{
    return number(report, "watched", 0) == number(report, "watched", 1) &&
           number(report, "missed", 1) + number(report, "missed", 2) == 0;
}

/* As in the report (report/watched.h). */
static void tell_unwatched(const json_t *report)
{
    long long count = number(report, "unwatched", 0), calls = number(report, "missed", 0);
    long long late = number(report, "missed", 1), busy = number(report, "missed", 2);

    if (late > 0)
        printf("Note: main() was not watched after %lld of %lld calls of StarPU: that would have "
               "taken more than a quarter of the time.\n",
               late, calls);
    if (busy > 0)
        printf("Note: main() was not watched after %lld of %lld calls of StarPU: it had waited "
               "for some tasks, and others were still there.\n",
               busy, calls);
    if (number(report, "watched", 0) < number(report, "watched", 1))
        printf("Note: %lld of %lld data handles that tasks wrote (of more than 4 KiB) were watched "
               "whenever main() had waited. What it reads or writes by plain pointers in others "
               "may not have been seen: runs go on to warn of it, and `starpu-tic rehearse` tells "
               "whether it matters.\n",
               number(report, "watched", 0), number(report, "watched", 1));
    if (count > 0)
        printf("Note: %lld data handles share pages with other memory, at data %lld (%lld bytes) "
               "first. What main() reads or writes there without starpu_data_acquire was not seen "
               "by this check.\n",
               count, number(report, "unwatched", 1), number(report, "unwatched", 2));
}

void tic_tool_tell_touched(const json_t *report)
{
    const json_t *places = json_object_get(report, "touched");
    size_t data = json_array_size(json_object_get(report, "touched_data")), i;
    json_t *place;

    tell_unwatched(report);
    if (data == 0)
        return;
    printf("The program touches %zu of its data handles (counted by number of registration, from "
           "0) by plain pointers, where protection does not see it. After a restart such a read "
           "may give another value, and such a write may be lost:\n",
           data);
    json_array_foreach(places, i, place)
    {
        if (count_same(places, 0, i, place) == 0)
            tell_place(place, count_same(places, i + 1, json_array_size(places), place) > 0);
    }
}

/* ---- advice --------------------------------------------------------------------------------- */

/* Where it belongs that runs of the same command follow it; NULL when out of memory. */
static char *find_path(const json_t *report)
{
    const char *set = getenv("STARPU_TIC_DIR");
    const char *working = json_string_value(json_object_get(report, "working"));
    const char *directory =
        set && set[0] ? set : json_string_value(json_object_get(report, "directory"));
    char *current = getcwd(NULL, 0), *path = NULL;
    size_t length = directory ? strlen(directory) : 0;

    while (length > 1 && directory[length - 1] == '/')
        length--;
    bool is_far = length > 0 && directory[0] != '/' && working && current &&
                  strcmp(working, current) != 0; /* the program goes somewhere else first */
    int status = length == 0 ? -1
                             : asprintf(&path, "%s%s%.*s.advice", is_far ? working : "",
                                        is_far ? "/" : "", (int)length, directory);
    free(current);
    return status < 0 ? NULL : path;
}

static void print_advice(FILE *file, const json_t *report)
{
    json_t *datum, *span;
    size_t i;

    fputs("# Left by starpu-tic check: runs do not warn again of what it has told.\n"
          "# Data that main() touches by plain pointers, as starpu-tic check has found it.\n"
          "# \"log ID\": runs are to log the value of the data with this number of registration "
          "for main().\n"
          "# \"seen FIRST LAST\": data with these numbers was watched whenever main() had waited; "
          "runs warn of other data.\n",
          file);
    json_array_foreach(json_object_get(report, "seen"), i, span)
        fprintf(file, "seen %lld %lld\n", json_integer_value(json_array_get(span, 0)),
                json_integer_value(json_array_get(span, 1)));
    json_array_foreach(json_object_get(report, "touched_data"), i, datum)
    {
        json_int_t kinds = json_integer_value(json_array_get(datum, 2));
        fprintf(file, "# %lld bytes; the program %s it\nlog %lld\n",
                json_integer_value(json_array_get(datum, 1)),
                verb((kinds & READS) != 0, (kinds & WRITES) != 0),
                json_integer_value(json_array_get(datum, 0)));
    }
}

int tic_tool_write_advice(const json_t *report, const char *path)
{
    char *temporary = NULL;
    int status = 0;

    if (asprintf(&temporary, "%s.new", path) < 0)
        return -ENOMEM;
    unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) {
        print_advice(file, report);
        status = ferror(file) ? -EIO : 0;
    }
    if (!file || (fclose(file) != 0 && status == 0) ||
        (status == 0 && rename(temporary, path) != 0))
        status = -errno;
    if (status && fd >= 0)
        unlink(temporary);
    free(temporary);
    return status;
}

char *tic_tool_leave_advice(const json_t *report, const char *chosen, bool always)
{
    char *path = chosen ? strdup(chosen) : find_path(report);
    bool needed = tic_tool_has_touched(report);
    int status = path ? 0 : -ENOMEM;

    if (path && (needed || always || access(path, F_OK) == 0))
        status = tic_tool_write_advice(report, path);
    if (status)
        fprintf(stderr, "starpu-tic: cannot write %s: %s\n", path ? path : "the advice",
                strerror(-status));
    if (!status && needed)
        return path;
    free(path);
    return NULL;
}
