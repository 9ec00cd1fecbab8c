/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that `starpu-tic run` supervises.
 *
 * It stays in the process group of its supervisor, so that the terminal is its own as much: it may
 * read from it, and what the keys of the terminal send comes to both. */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "tools/tool.h"

/* Looks at what is being killed, each of 0.1 s, and how many processes a look sees. */
enum { MOST_LOOKS = 100, MOST_SEEN = 256 };

static sigset_t awaited, original;
static struct sigaction original_action; /* of SIGCHLD */
static pid_t child;                      /* the last one; 0: it has ended */
static const struct tic_beacon *beacon;  /* which shows the process that protects, or NULL */
static int last;                         /* the end of that one, if it was a child by then */
static bool has_last;
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

/* ---- the process that protects --------------------------------------------------------------- */

/* The parent of a process that lives, or 0. */
static pid_t parent_of(pid_t process)
{
    char path[64], state = 'Z';
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %c %d", &state, &parent) != 2)
        state = 'Z';
    if (file)
        fclose(file);
    return state == 'Z' ? 0 : parent;
}

/* A script, or whatever else the command is, has started it; 0: none, or the child is it. The
 * number may be of another space of numbers: only what descends from here is believed. */
static pid_t find_protecting(void)
{
    pid_t process = beacon ? atomic_load(&beacon->process) : 0, above = process;

    while (above > 1 && above != getpid())
        above = parent_of(above);
    return process == child || above != getpid() ? 0 : process;
}

/* ---- signals --------------------------------------------------------------------------------- */

/* Who is immune to a signal by its parent (nohup) stays so, and so does its child. */
static void await_unless_ignored(int signal)
{
    struct sigaction action;

    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(&awaited, signal);
}

void tic_child_prepare(const struct tic_beacon *shown)
{
    static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
                                    SIGUSR2, SIGTERM, SIGXCPU, SIGCONT};
    struct sigaction action = {.sa_handler = SIG_DFL};

    beacon = shown;
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
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP ||
        signal == SIGXCPU)
        asked = signal;
}

/* Does the child handle it, so that it does not die of it? */
static bool is_handled(int signal)
{
    char path[64], line[128];
    unsigned long long handled = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "SigCgt: %llx", &handled) != 1)
        ;
    if (file)
        fclose(file);
    return handled >> (signal - 1) & 1;
}

/* The terminal has sent the signal of a key to the whole group. A hang-up may come to the leader of
 * a session alone, and twice does no harm. A shell passes on nothing, or when the program has
 * ended, and dies of what it does not handle: then the rest of the script does not run. A launcher
 * gives its ranks a second to end: a rank alone is asked first, which has all take a line. */
static void pass_on(const siginfo_t *info)
{
    int signal = info->si_signo;
    bool first = !asked;

    note_asked(signal);
    if (info->si_code == SI_KERNEL && signal != SIGHUP)
        return;
    pid_t protecting = find_protecting();
    bool stops = protecting && first && asked && atomic_load(&beacon->is_rank);
    if (child && !stops && (!protecting || asked == signal || is_handled(signal)))
        kill(child, signal); /* the number is taken until the child is waited for */
    if (protecting)
        kill(protecting, signal);
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
    has_last = false;
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

    while ((process = waitpid(-1, &other, WNOHANG)) > 0)
        if (process == child) {
            *status = other;
            child = 0;
            ended = true;
        } else if (beacon && process == atomic_load(&beacon->process)) {
            last = other;
            has_last = true;
        }
    return ended;
}

/* What counts: of a script that has left the program running, or died as it was asked to end, the
 * status of the program. */
static int choose(int status)
{
    int code = WIFSIGNALED(status) ? TIC_TOOL_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    int stopped = beacon ? atomic_load(&beacon->stopped) : 0;

    if (code != 0 && (!asked || code != TIC_TOOL_BY_SIGNAL + asked))
        return status;
    return has_last ? last : code != 0 && stopped ? W_EXITCODE(stopped, 0) : status;
}

/* A child that has died without being asked to is followed by a restart: what it leaves is ended.
 */
static bool is_over(bool ended, int status)
{
    return ended && ((WIFSIGNALED(status) && !asked) || !find_protecting());
}

int tic_child_await(void (*look)(void *arg), void *arg)
{
    const struct timespec second = {1, 0};
    double looked = tic_seconds();
    siginfo_t info;
    int status = 0;
    bool ended = false;

    for (;;) {
        int signal = sigtimedwait(&awaited, &info, &second);
        if (signal == SIGCHLD)
            ended |= reap(&status);
        else if (signal > 0)
            pass_on(&info);
        if (is_over(ended, status)) {
            reap(&status); /* the program may have ended just now */
            return choose(status);
        }
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

/* ---- the standard input ---------------------------------------------------------------------- */

/* A standard input that is a pipe or a socket: what a run has read of it is gone for the next one.
 * What is in a pipe that nobody writes to any more is known without reading it, and can be given
 * again. */

enum { WAIT = 200 /* milliseconds for a writer that has just been started */ };

static bool is_piped;
static bool came_in;  /* something was there to be read, or nothing will come any more */
static char *content; /* of a pipe that nobody writes to any more; NULL: not known */
static int size;
static bool was_read; /* some of it */

static int events(short wanted, int milliseconds)
{
    struct pollfd piped = {.fd = STDIN_FILENO, .events = wanted};

    return poll(&piped, 1, milliseconds) > 0 ? piped.revents : 0;
}

static int unread(void)
{
    int bytes;

    return ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 ? bytes : -1;
}

/* As large as the one that holds it. */
static bool make_pipe(int ends[2])
{
    int capacity = fcntl(STDIN_FILENO, F_GETPIPE_SZ);

    if (capacity < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    return fcntl(ends[1], F_SETPIPE_SZ, capacity) >= capacity;
}

/* tee() leaves what it copies where it is. */
static void copy_content(void)
{
    int ends[2] = {-1, -1}, there = unread();
    char *copy = there < 0 ? NULL : malloc((size_t)there + 1);
    bool whole =
        copy && make_pipe(ends) &&
        (there == 0 || (tee(STDIN_FILENO, ends[1], (size_t)there, SPLICE_F_NONBLOCK) == there &&
                        read(ends[0], copy, (size_t)there) == there));

    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (!whole) {
        free(copy);
        return;
    }
    content = copy;
    size = there;
}

void tic_piped_begin(void)
{
    struct stat info;

    is_piped =
        fstat(STDIN_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
    if (!is_piped)
        return;
    if ((events(0, WAIT) & POLLHUP) != 0 && S_ISFIFO(info.st_mode))
        copy_content();
    tic_piped_look();
}

void tic_piped_look(void)
{
    came_in = came_in || (is_piped && events(POLLIN, 0) != 0);
}

enum tic_piped tic_piped_end(void)
{
    tic_piped_look();
    was_read = was_read || (content && unread() != size);
    if (!is_piped || content)
        return TIC_PIPED_THERE;
    return came_in ? TIC_PIPED_GONE : TIC_PIPED_UNKNOWN;
}

bool tic_piped_again(int *from)
{
    int ends[2] = {-1, -1};

    *from = -1;
    if (!was_read)
        return true;
    bool whole = make_pipe(ends) && (size == 0 || write(ends[1], content, (size_t)size) == size);
    if (ends[1] >= 0)
        close(ends[1]);
    if (!whole && ends[0] >= 0)
        close(ends[0]);
    *from = ends[0];
    return whole;
}
