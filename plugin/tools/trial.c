/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run of a program in a rehearsal. A run is a process group of its own, nothing of which is
 * left when it has ended. */
#include "tools/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "tools/input.h"
#include "base/thread.h"
#include "tools/tool.h"

static sigset_t awaited, original;

void tic_trial_prepare(void)
{
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, &awaited, &original);
}

/* ---- what is run ----------------------------------------------------------------------------- */

struct tic_trial tic_trial_create(const char *name, ...)
{
    struct tic_trial trial = {.end = TIC_TRIAL_NOT_RUN};
    va_list args;

    va_start(args, name);
    vsnprintf(trial.name, sizeof(trial.name), name, args);
    va_end(args);
    return trial;
}

void tic_trial_set(struct tic_trial *trial, const char *assignment, ...)
{
    va_list args;

    va_start(args, assignment);
    if (trial->variable_count < TIC_TRIAL_VARIABLES &&
        vasprintf(&trial->variables[trial->variable_count], assignment, args) >= 0)
        trial->variable_count++;
    va_end(args);
}

void tic_trial_destroy(struct tic_trial *trial)
{
    for (unsigned i = 0; i < trial->variable_count; i++)
        free(trial->variables[i]);
    trial->variable_count = 0;
    tic_output_free(&trial->found);
}

void tic_trial_path(const struct tic_trial *trial, const struct tic_trial_place *place,
                    const char *kind, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s.%s", place->folder, trial->name, kind) >= PATH_MAX)
        path[0] = '\0';
}

static void set_path(const struct tic_trial *trial, const struct tic_trial_place *place,
                     const char *variable, const char *kind)
{
    char path[PATH_MAX];

    tic_trial_path(trial, place, kind, path);
    setenv(variable, path, 1);
}

/* ---- the child ------------------------------------------------------------------------------- */

static void set_environment(const struct tic_trial *trial, const struct tic_trial_place *place)
{
    static const char *const ours[] = {"CLOCK", "COPY",     "DIGESTS", "DIR",    "EVENTS",
                                       "EVERY", "FAIL",     "KEEP",    "PERIOD", "REPORT",
                                       "STATS", "PROTOCOL", "VERBOSE", "TRACE",  "WRITES"};
    char name[64];

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        snprintf(name, sizeof(name), TIC_SETTING_PREFIX "%s", ours[i]);
        unsetenv(name);
    }
    setenv("STARPU_TIC_VERBOSE", "0", 1);
    setenv("STARPU_TIC_SYNC", "never", 1); /* a killed process needs no more */
    set_path(trial, place, "STARPU_TIC_STATS", "stats");
    set_path(trial, place, "STARPU_TIC_DIGESTS", "digests");
    for (unsigned i = 0; i < trial->variable_count; i++)
        putenv(trial->variables[i]);
}

static void redirect(const struct tic_trial *trial, const struct tic_trial_place *place,
                     const char *kind, int flags, int to)
{
    char path[PATH_MAX];

    tic_trial_path(trial, place, kind, path);
    int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, to) < 0)
        _exit(TIC_TOOL_NOT_RUNNABLE);
    close(file);
}

/* What is printed is buffered as in any run whose output goes to a file: a kill loses what the
 * program has not written yet. */
static void execute(char **command)
{
    execvp(command[0], command);
    fprintf(stderr, "cannot run %s: %s\n", command[0], strerror(errno));
    _exit(errno == ENOENT ? TIC_TOOL_NOT_FOUND : TIC_TOOL_NOT_RUNNABLE);
}

static void become(const struct tic_trial *trial, const struct tic_trial_place *place)
{
    char input[PATH_MAX];

    setpgid(0, 0);
    snprintf(input, sizeof(input), "%.*s/input", PATH_MAX - 8, place->folder);
    if (!tic_input_give(input))
        _exit(TIC_TOOL_NOT_RUNNABLE);
    redirect(trial, place, "raw", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, STDOUT_FILENO);
    redirect(trial, place, "err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, STDERR_FILENO);
    set_environment(trial, place);
    if (tic_tool_preload(place->command[0]) != 0)
        _exit(TIC_TOOL_NOT_RUNNABLE);
    sigprocmask(SIG_SETMASK, &original, NULL);
    execute(place->command);
}

/* ---- its end --------------------------------------------------------------------------------- */

/* Also when the terminal has stopped it: the process group is never the one in front, and nobody
 * would let it go on. */
static bool has_ended(struct tic_trial *trial, pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    int status = waitid(P_PID, (id_t)child, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);

    if (status == 0 && info.si_pid == child && info.si_code == CLD_STOPPED) {
        if (info.si_status != SIGTTIN && info.si_status != SIGTTOU)
            return false;
        trial->end = TIC_TRIAL_STOPPED;
        trial->status = info.si_status;
    }
    return status != 0 || info.si_pid == child;
}

/* Until the child has ended or is stopped, or has no more time, or this process is to end. */
static void await(struct tic_trial *trial, pid_t child, double limit)
{
    double begin = tic_seconds();

    while (!has_ended(trial, child)) {
        double left = limit > 0 ? begin + limit - tic_seconds() : 3600;
        if (left <= 0) {
            trial->end = TIC_TRIAL_HUNG;
            break;
        }
        struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        int signal = sigtimedwait(&awaited, NULL, &time);
        if (signal > 0 && signal != SIGCHLD) {
            trial->end = TIC_TRIAL_INTERRUPTED;
            trial->status = signal;
            break;
        }
    }
    trial->seconds = tic_seconds() - begin;
}

static void take_status(struct tic_trial *trial, int status)
{
    if (WIFEXITED(status)) {
        trial->end = TIC_TRIAL_EXITED;
        trial->status = WEXITSTATUS(status);
    } else {
        trial->end = WTERMSIG(status) == SIGKILL ? TIC_TRIAL_KILLED : TIC_TRIAL_CRASHED;
        trial->status = WTERMSIG(status);
    }
    /* A shell that runs the program tells so. */
    if (trial->end == TIC_TRIAL_EXITED && trial->status == TIC_TOOL_BY_SIGNAL + SIGKILL)
        trial->end = TIC_TRIAL_KILLED;
}

/* The standard output as it is compared. */
static void filter_output(const struct tic_trial *trial, const struct tic_trial_place *place)
{
    char raw[PATH_MAX], out[PATH_MAX];
    int status = -1;

    tic_trial_path(trial, place, "raw", raw);
    tic_trial_path(trial, place, "out", out);
    if (!place->filter) {
        rename(raw, out);
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        redirect(trial, place, "raw", O_RDONLY, STDIN_FILENO);
        redirect(trial, place, "out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
        execlp("sed", "sed", "-E", "-e", place->filter, (char *)NULL);
        _exit(TIC_TOOL_NOT_FOUND);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    if (status != 0)
        unlink(out);
}

void tic_trial_run(struct tic_trial *trial, const struct tic_trial_place *place)
{
    static const char *const kinds[] = {"raw", "out", "err", "stats", "digests"};
    char path[PATH_MAX];
    int status = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tic_trial_path(trial, place, kinds[i], path);
        unlink(path);
    }
    trial->end = TIC_TRIAL_NOT_RUN;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return;
    if (child == 0)
        become(trial, place);
    setpgid(child, child);
    await(trial, child, place->limit);
    kill(-child, SIGKILL); /* the number is taken until the child is waited for */
    if (waitpid(child, &status, 0) == child && trial->end == TIC_TRIAL_NOT_RUN)
        take_status(trial, status);
    filter_output(trial, place);
}

void tic_trial_message(const struct tic_trial *trial, const struct tic_trial_place *place,
                       const char *start, char message[TIC_TRIAL_MESSAGE])
{
    static const char prefix[] = "starpu-tic: ";
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;

    message[0] = '\0';
    tic_trial_path(trial, place, "err", path);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) > 0) {
        if (strncmp(line, start, strlen(start)) != 0)
            continue;
        bool ours = strncmp(line, prefix, strlen(prefix)) == 0;
        line[strcspn(line, "\n")] = '\0';
        snprintf(message, TIC_TRIAL_MESSAGE, "%s", ours ? line + strlen(prefix) : line);
    }
    if (file)
        fclose(file);
    free(line);
}
