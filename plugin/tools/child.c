/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that `starpu-tic run` supervises.
 *
 * It stays in the process group of its supervisor, so that the terminal is its own as much: it may
 * read from it, and what the keys of the terminal send comes to both. */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "tools/piped.h"
#include "tools/tool.h"

/* Looks at what is being killed, each of 0.1 s, and how many processes a look sees. */
enum { MOST_LOOKS = 100, MOST_SEEN = 256 };

static sigset_t awaited, original;
static struct sigaction original_action; /* of SIGCHLD */
static pid_t child;                      /* the last one */
static int asked;
static off_t input;              /* where the standard input was at first; -1: nowhere */
static pid_t earlier[MOST_SEEN]; /* children from before this program was executed: they belong to
                                    the shell that was here (`exec ... > >(tee log)`) */
static unsigned earlier_count;

/* Children of this process. */
static unsigned list_children(pid_t processes[MOST_SEEN])
{
    char path[64];
    unsigned count = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    while (file && count < MOST_SEEN && fscanf(file, "%d", &processes[count]) == 1)
        count++;
    if (file)
        fclose(file);
    return count;
}

/* ---- signals --------------------------------------------------------------------------------- */

/* Who is immune to a signal by its parent (nohup) stays so, and so does its child. */
static void await_unless_ignored(int signal)
{
    struct sigaction action;

    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(&awaited, signal);
}

void tic_child_prepare(void)
{
    static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT};
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(SIGCHLD, &action, &original_action); /* ignored children leave no status */
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        await_unless_ignored(passed_on[i]);
    sigprocmask(SIG_BLOCK, &awaited, &original);
    /* What a shell leaves when it dies becomes a child of this process. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    earlier_count = list_children(earlier);
}

/* SIGUSR1 and the like tell the program something; these tell it to end. */
static void note_asked(int signal)
{
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP)
        asked = signal;
}

/* The terminal has sent the signal of a key to the whole group. A hang-up may come to the leader of
 * a session alone, and twice does no harm. */
static void pass_on(const siginfo_t *info)
{
    note_asked(info->si_signo);
    if (info->si_code != SI_KERNEL || info->si_signo == SIGHUP)
        kill(child, info->si_signo); /* the number is taken until the child is waited for */
}

int tic_child_asked(void)
{
    return asked;
}

/* ---- start ----------------------------------------------------------------------------------- */

int tic_child_execute(char **command)
{
    execvp(command[0], command);
    int error = errno;
    fprintf(stderr, "starpu-tic: cannot run %s: %s\n", command[0], strerror(error));
    return error == ENOENT ? TIC_TOOL_NOT_FOUND : TIC_TOOL_NOT_RUNNABLE;
}

static void become(char **command, int inherited, int piped, pid_t parent)
{
    /* Nobody would restart it, and nobody would know of it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(TIC_TOOL_NOT_RUNNABLE); /* the parent was dead before */
    if (inherited >= 0)
        fcntl(inherited, F_SETFD, 0);
    if (piped >= 0 && dup2(piped, STDIN_FILENO) < 0)
        _exit(TIC_TOOL_NOT_RUNNABLE);
    sigaction(SIGCHLD, &original_action, NULL);
    sigprocmask(SIG_SETMASK, &original, NULL);
    _exit(tic_child_execute(command));
}

bool tic_child_start(char **command, int inherited)
{
    pid_t parent = getpid();
    int piped;

    /* A file is read from where the first run began; a terminal from where the last one ended. */
    if (input >= 0)
        lseek(STDIN_FILENO, input, SEEK_SET);
    fflush(NULL);
    pid_t started = tic_piped_again(&piped) ? fork() : -1;
    if (started == 0)
        become(command, inherited, piped, parent);
    if (started > 0)
        child = started;
    else
        fprintf(stderr, "starpu-tic: cannot start a process: %s\n", strerror(errno));
    if (piped >= 0)
        close(piped);
    return started > 0;
}

/* ---- end ------------------------------------------------------------------------------------- */

/* No zombies stay behind, whosever children they were. True when the child was among them. */
static bool reap(int *status)
{
    bool ended = false;
    int other;
    pid_t process;

    while ((process = waitpid(-1, &other, WNOHANG)) > 0) {
        if (process == child)
            *status = other;
        ended |= process == child;
    }
    return ended;
}

int tic_child_await(void (*look)(void *arg), void *arg)
{
    const struct timespec second = {1, 0};
    double looked = tic_seconds();
    siginfo_t info;
    int status = 0;

    for (;;) {
        int signal = sigtimedwait(&awaited, &info, &second);
        if (signal == SIGCHLD && reap(&status))
            return status;
        if (signal > 0 && signal != SIGCHLD)
            pass_on(&info);
        if (tic_seconds() - looked < 1)
            continue;
        looked = tic_seconds();
        look(arg);
    }
}

/* Also of no time: what has come before counts. */
bool tic_child_pause(double seconds)
{
    double end = tic_seconds() + seconds, left = seconds;
    int signal, status;

    do {
        struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        signal = sigtimedwait(&awaited, NULL, &time);
        if (signal == SIGCHLD)
            reap(&status);
        else if (signal > 0)
            note_asked(signal);
        left = end > tic_seconds() ? end - tic_seconds() : 0;
    } while (!asked && (signal > 0 || left > 0));
    return !asked;
}

/* ---- what it leaves -------------------------------------------------------------------------- */

static bool is_earlier(pid_t process)
{
    for (unsigned i = 0; i < earlier_count; i++)
        if (earlier[i] == process)
            return true;
    return false;
}

/* How many were sent the signal. */
static unsigned send_to_rest(int signal)
{
    pid_t processes[MOST_SEEN];
    unsigned count = list_children(processes), sent = 0;

    for (unsigned i = 0; i < count; i++)
        if (!is_earlier(processes[i])) {
            kill(processes[i], signal);
            sent++;
        }
    return sent;
}

void tic_child_end_rest(int signal)
{
    const struct timespec look = {0, 100000000};
    sigset_t ended;
    int status;

    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (int i = 0; send_to_rest(signal) > 0 && signal == SIGKILL && i < MOST_LOOKS; i++) {
        sigtimedwait(&ended, NULL, &look);
        reap(&status);
    }
}
