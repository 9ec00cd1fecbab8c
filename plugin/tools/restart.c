/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a program that has ended is started again, and when. */
#include "tools/restart.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "tools/tool.h"

/* A run that takes less than so many times the first wait doubles the next one. */
enum { SHORT_RUN = 5 };
#define LONGEST_WAIT 60.0

/* A shell tells so of a program that died; a program may end with any status. */
static bool is_deadly(int signal)
{
    static const int harmless[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP,
                                   SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};

    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (harmless[i] == signal)
            return false;
    return signal > 0 && signal <= SIGRTMAX;
}

struct tic_restart_end tic_restart_end_of(int status)
{
    struct tic_restart_end end = {0};
    int code = WIFSIGNALED(status) ? TIC_TOOL_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);

    end.status = code;
    end.by_signal = is_deadly(code - TIC_TOOL_BY_SIGNAL);
    return end;
}

/* Somebody has stopped the program, the start was refused, the replay differs, or the program
 * cannot be executed. */
static bool is_final(int status)
{
    return status == TIC_EXIT_STOPPED || status == TIC_EXIT_REFUSED ||
           status == TIC_EXIT_DIVERGED || status == TIC_TOOL_NOT_RUNNABLE ||
           status == TIC_TOOL_NOT_FOUND;
}

/* The run has stopped itself, so that the next one goes on: a task may come right there. */
static bool is_stopped_by_task(int status)
{
    return status == TIC_EXIT_FAILED || status == TIC_EXIT_DIFFERS;
}

/* What fails at once, or brings nothing, is not tried in a tight loop. */
static double next_wait(const struct tic_restart *restart, double first, double seconds)
{
    double longest = first > LONGEST_WAIT ? first : LONGEST_WAIT;
    bool longer = restart->wait > 0 && (restart->idle > 0 || seconds < SHORT_RUN * first);
    double wait = longer ? 2 * restart->wait : first;

    return wait < longest ? wait : longest;
}

/* Would a restart have less to do than by what there was before? Numbers of lines do not count: a
 * restart that comes no further may take one, too. */
static bool is_beyond(const struct tic_progress *now, const struct tic_progress *before)
{
    if (now->tasks_done != before->tasks_done)
        return now->tasks_done > before->tasks_done;
    if (now->tasks_submitted != before->tasks_submitted)
        return now->tasks_submitted > before->tasks_submitted;
    return now->results > before->results;
}

static enum tic_restart_verdict judge_end(const struct tic_restart_rules *rules,
                                          const struct tic_restart_end *end)
{
    if (end->status == 0)
        return TIC_RESTART_ENDED;
    if (end->asked)
        return TIC_RESTART_ASKED;
    if (is_final(end->status))
        return TIC_RESTART_FINAL;
    return end->by_signal || rules->on_exit || is_stopped_by_task(end->status) ? TIC_RESTART_AGAIN
                                                                               : TIC_RESTART_ENDED;
}

bool tic_restart_may_follow(const struct tic_restart_rules *rules,
                            const struct tic_restart_end *end)
{
    return judge_end(rules, end) == TIC_RESTART_AGAIN;
}

static unsigned long most_idle(const struct tic_restart_rules *rules,
                               const struct tic_restart_end *end)
{
    if (rules->idle > 0)
        return rules->idle;
    return end->status == TIC_TOOL_BY_SIGNAL + SIGKILL ? TIC_RESTART_IDLE : 1;
}

enum tic_restart_verdict tic_restart_decide(struct tic_restart *restart,
                                            const struct tic_restart_rules *rules,
                                            const struct tic_restart_end *end)
{
    enum tic_restart_verdict verdict = judge_end(rules, end);

    if (verdict != TIC_RESTART_AGAIN)
        return verdict;
    if (!restart->crashed || is_beyond(&end->progress, &restart->furthest)) {
        restart->furthest = end->progress;
        restart->idle = 0;
    } else if (++restart->idle >= most_idle(rules, end)) {
        return TIC_RESTART_STUCK;
    }
    restart->crashed = true;
    if (restart->restarts >= rules->most)
        return TIC_RESTART_SPENT;
    restart->restarts++;
    restart->wait = next_wait(restart, rules->backoff, end->seconds);
    return TIC_RESTART_AGAIN;
}
