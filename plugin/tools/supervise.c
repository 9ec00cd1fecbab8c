/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic run --max-restarts: starts the program, and again when it has crashed. */
#include "tools/supervise.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/trace.h"
#include "tools/child.h"
#include "tools/culprit.h"
#include "tools/rank_count.h"
#include "tools/ticker.h"
#include "tools/tool.h"

struct supervisor {
    char **command;
    const struct tic_restart_rules *rules;
    const struct tic_settings *settings;
    struct tic_restart restart;
    int descriptor;  /* of the beacon, or -1 */
    bool is_guarded; /* it is locked */
    struct tic_beacon *beacon;
    char directory[PATH_MAX]; /* of the recovery lines, as far as it is known */
    struct tic_culprits before, now;
    uint64_t begun; /* this run: CLOCK_MONOTONIC */
    uint64_t kills; /* for memory, in this control group, before this run */
    struct tic_ticker ticker;
};

/* ---- the beacon ------------------------------------------------------------------------------ */

/* Without one, the program runs as well. */
static void make_beacon(struct supervisor *supervisor)
{
    enum { HIGH = 100 }; /* scripts use low numbers */
    int made = memfd_create("starpu-tic", MFD_CLOEXEC), fd = fcntl(made, F_DUPFD_CLOEXEC, HIGH);
    char place[64];
    struct stat info;

    if (fd < 0)
        fd = made;
    else
        close(made);
    supervisor->descriptor = -1;
    unsetenv(TIC_BEACON_VARIABLE); /* of a supervisor of this one */
    if (fd < 0 || ftruncate(fd, sizeof(*supervisor->beacon)) != 0 || fstat(fd, &info) != 0)
        return;
    void *memory =
        mmap(NULL, sizeof(*supervisor->beacon), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    supervisor->is_guarded = fcntl(fd, F_SETLK, &lock) == 0;
    snprintf(place, sizeof(place), "%d %llu %d", fd, (unsigned long long)info.st_ino, getpid());
    setenv(TIC_BEACON_VARIABLE, place, 1);
    supervisor->beacon = memory;
    supervisor->descriptor = fd;
}

/* What the next run is not to find. */
static void reset_beacon(struct tic_beacon *beacon, bool is_guarded)
{
    memset(beacon, 0, sizeof(*beacon));
    atomic_store(&beacon->is_guarded, is_guarded);
    beacon->format = TIC_BEACON_FORMAT;
}

/* All processes of the run are dead. */
static void read_beacon(struct supervisor *supervisor)
{
    supervisor->before = supervisor->now;
    if (!supervisor->beacon)
        return;
    tic_culprits_read(&supervisor->now, supervisor->beacon);
    const char *directory = supervisor->beacon->directory;
    if (directory[0])
        snprintf(supervisor->directory, sizeof(supervisor->directory), "%.*s", PATH_MAX - 1,
                 directory);
}

/* ---- messages -------------------------------------------------------------------------------- */

enum { MOST_TEXT = 512 };

static void describe_end(const struct supervisor *supervisor, const struct tic_restart_end *end,
                         char text[MOST_TEXT])
{
    int signal = end->status - TIC_TOOL_BY_SIGNAL;

    const bool killed = end->by_signal && signal == SIGKILL;
    const char *why =
        killed && tic_memory_kills(TIC_MEMORY_GROUPS, TIC_MEMORY_MOUNT) > supervisor->kills
            ? ", as the memory of the job was used up (STARPU_TIC_MEMORY bounds our copies)"
            : "";

    if (end->by_signal)
        snprintf(text, MOST_TEXT, "%.300s died of signal %d (%s) after %.1f s%s",
                 supervisor->command[0], signal, strsignal(signal), end->seconds, why);
    else
        snprintf(text, MOST_TEXT, "%.300s ended with status %d after %.1f s",
                 supervisor->command[0], end->status, end->seconds);
}

static void describe_place(const struct tic_progress *progress, char text[MOST_TEXT])
{
    if (progress->line > 0)
        snprintf(text, MOST_TEXT, "the newest recovery line is %llu, with %llu tasks done",
                 (unsigned long long)progress->line, (unsigned long long)progress->tasks_done);
    else
        snprintf(text, MOST_TEXT, "there is no recovery line");
}

static void say_stuck(struct supervisor *supervisor, const struct tic_restart_end *end,
                      const char *what)
{
    char tasks[MOST_TEXT];

    tic_culprits_intersect(&supervisor->now, &supervisor->before);
    tic_culprits_describe(&supervisor->now, tasks, sizeof(tasks));
    tic_log(TIC_LOG_WARN,
            "%s, and no recovery line came further (--no-progress %lu): no more restarts.%s", what,
            supervisor->restart.idle, tasks);
    if (end->progress.line == 0)
        tic_log(TIC_LOG_WARN,
                "there is no recovery line yet; a shorter --period would take one sooner");
    if (end->status == TIC_TOOL_BY_SIGNAL + SIGKILL)
        tic_log(TIC_LOG_WARN,
                "signal 9 comes from outside, perhaps for memory (STARPU_TIC_MEMORY)");
}

/* Can a restart read what the first run has read? Says so, if not. */
static bool has_input(const struct supervisor *supervisor)
{
    enum tic_piped piped = tic_piped_end();

    if (piped == TIC_PIPED_GONE)
        tic_log(TIC_LOG_WARN,
                "the standard input is a pipe, and %.300s may have read it: no restart. A file can "
                "be read again",
                supervisor->command[0]);
    else if (piped == TIC_PIPED_UNKNOWN && supervisor->restart.restarts == 1)
        tic_log(TIC_LOG_WARN,
                "the standard input is a pipe that is still open: what %.300s has read of it is "
                "gone (better: < FILE)",
                supervisor->command[0]);
    return piped != TIC_PIPED_GONE;
}

static void say(struct supervisor *supervisor, const struct tic_restart_end *end,
                enum tic_restart_verdict verdict)
{
    char what[MOST_TEXT], place[MOST_TEXT];

    describe_end(supervisor, end, what);
    describe_place(&end->progress, place);
    if (verdict == TIC_RESTART_AGAIN)
        tic_log(TIC_LOG_INFO, "%s: restart %lu of %lu in %.1f s, %s", what,
                supervisor->restart.restarts, supervisor->rules->most, supervisor->restart.wait,
                place);
    else if (verdict == TIC_RESTART_STUCK)
        say_stuck(supervisor, end, what);
    else if (verdict == TIC_RESTART_SPENT)
        tic_log(TIC_LOG_WARN, "%s: no more restarts than %lu are allowed (--max-restarts)", what,
                supervisor->rules->most);
    else if (verdict == TIC_RESTART_ASKED)
        tic_log(TIC_LOG_INFO, "%s, asked to end by signal %d: no restart", what, tic_child_asked());
    else if (supervisor->restart.restarts > 0)
        tic_log(TIC_LOG_INFO, "%s; %lu restarts in all", what, supervisor->restart.restarts);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Does a restart use what tasks left after the line? Else it is no progress. */
static bool uses_results(const struct tic_settings *settings)
{
    return settings->results && settings->verify == 0;
}

static double seconds_of_run(const struct supervisor *supervisor)
{
    return (double)(tic_nanoseconds(CLOCK_MONOTONIC) - supervisor->begun) * 1e-9;
}

static void look(void *arg)
{
    struct supervisor *supervisor = arg;

    tic_piped_look();
    tic_ticker_tick(&supervisor->ticker, supervisor->beacon, seconds_of_run(supervisor));
}

/* What was killed cannot say so itself. */
static void trace_end(const struct supervisor *supervisor, const struct tic_restart_end *end)
{
    const char *path = supervisor->settings->trace;

    if (path[0])
        tic_trace_append(path, "ended", ", \"status\": %d, \"signal\": %d", end->status,
                         end->by_signal ? end->status - TIC_TOOL_BY_SIGNAL : 0);
}

/* Why no run follows. */
static void trace_reason(const struct supervisor *supervisor, const char *reason)
{
    const char *path = supervisor->settings->trace;
    char tasks[MOST_TEXT] = "", quoted[MOST_TEXT];

    if (strcmp(reason, "stuck") == 0)
        tic_culprits_describe(&supervisor->now, tasks, sizeof(tasks));
    tic_trace_quote(quoted, sizeof(quoted), tasks);
    if (path[0])
        tic_trace_append(path, "no_restart",
                         ", \"reason\": \"%s\", \"restarts\": %lu, \"tasks\": \"%s\"", reason,
                         supervisor->restart.restarts, quoted);
}

static void trace_verdict(const struct supervisor *supervisor, enum tic_restart_verdict verdict)
{
    static const char *const reasons[TIC_RESTART_SPENT + 1] = {
        [TIC_RESTART_ASKED] = "asked",
        [TIC_RESTART_FINAL] = "final",
        [TIC_RESTART_STUCK] = "stuck",
        [TIC_RESTART_SPENT] = "spent",
    };

    if (reasons[verdict])
        trace_reason(supervisor, reasons[verdict]);
}

static bool run_once(struct supervisor *supervisor, struct tic_restart_end *end)
{
    supervisor->kills = tic_memory_kills(TIC_MEMORY_GROUPS, TIC_MEMORY_MOUNT);
    supervisor->begun = tic_nanoseconds(CLOCK_MONOTONIC);
    tic_ticker_begin(&supervisor->ticker, supervisor->restart.restarts);
    if (supervisor->beacon)
        reset_beacon(supervisor->beacon, supervisor->is_guarded);
    if (!tic_child_start(supervisor->command, supervisor->descriptor))
        return false;
    *end = tic_restart_end_of(tic_child_await(look, supervisor));
    end->seconds = seconds_of_run(supervisor);
    tic_ticker_end(&supervisor->ticker);
    trace_end(supervisor, end);
    end->asked = tic_child_asked() != 0;
    if (end->asked)
        tic_child_end_rest(tic_child_asked());
    return true;
}

/* After a run that may be followed by another one. */
static void look_at_rest(struct supervisor *supervisor, struct tic_restart_end *end)
{
    tic_child_end_rest(SIGKILL);
    read_beacon(supervisor);
    if (supervisor->directory[0])
        end->progress =
            tic_progress_read(supervisor->directory, uses_results(supervisor->settings));
}

static bool pause_before_restart(const struct supervisor *supervisor)
{
    bool goes_on = tic_child_pause(supervisor->restart.wait);

    if (!goes_on)
        trace_reason(supervisor, "asked");
    if (!goes_on)
        tic_log(
            TIC_LOG_INFO,
            "asked to end by signal %d before restart %lu: no restart. The same command goes on "
            "from there",
            tic_child_asked(), supervisor->restart.restarts);
    if (goes_on && supervisor->rules->ranks_from)
        tic_rank_count_renew(supervisor->rules->ranks_from, supervisor->rules->ranks);
    return goes_on;
}

int tic_supervise(char **command, const struct tic_restart_rules *rules,
                  const struct tic_settings *settings)
{
    static struct supervisor supervisor;
    enum tic_restart_verdict verdict;
    struct tic_restart_end end = {.status = TIC_TOOL_FAILED};

    supervisor = (struct supervisor){.command = command, .rules = rules, .settings = settings};
    snprintf(supervisor.directory, sizeof(supervisor.directory), "%s", settings->dir);
    supervisor.ticker.quiet = rules->quiet || settings->verbose == 0;
    tic_log_set_level(settings->verbose);
    tic_tool_load_store(); /* or it would be missed after a crash */
    make_beacon(&supervisor);
    tic_child_prepare(supervisor.beacon);
    tic_piped_begin();
    do {
        if (!run_once(&supervisor, &end))
            break;
        if (tic_restart_may_follow(rules, &end))
            look_at_rest(&supervisor, &end);
        verdict = tic_restart_decide(&supervisor.restart, rules, &end);
        if (verdict == TIC_RESTART_AGAIN && !has_input(&supervisor)) {
            trace_reason(&supervisor, "input");
            break;
        }
        say(&supervisor, &end, verdict);
        trace_verdict(&supervisor, verdict);
    } while (verdict == TIC_RESTART_AGAIN && pause_before_restart(&supervisor));
    if (supervisor.beacon) /* what the program has left running may go on */
        atomic_store(&supervisor.beacon->is_guarded, false);
    return end.status;
}
