/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runs of starpu-tic check. */
#include "tools/check_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/input.h"
#include "tools/tool.h"
#include "tools/touched.h"

static void path_of(const char *directory, const char *end, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%s.%s", directory, end);
}

/* All runs read the same standard input, but for a terminal, which may answer each of them. */
bool tic_check_save_input(const char *directory)
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

void tic_check_show_output(const char *directory)
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

int tic_check_run(char **argv, const char *directory, int run, enum tic_check_conditions conditions)
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

void tic_check_clean(const char *directory)
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
