/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end that somebody asks for by a signal.
 *
 * Whom this believes: the kernel, which knows one action for each signal. If it is the default when
 * StarPU is about to start, the signal would end the program, and ends it with a checkpoint
 * instead, also where StarPU's libraries have installed a handler meanwhile, as LLVM does, which
 * PoCL brings: it tidies up and has the signal end the process. If the program has installed a
 * handler, or ignores the signal, it stays so. If it does so later, its action replaces ours. If it
 * blocks the signal, to wait for it in a thread of its own, that thread gets it. The handler only
 * posts a semaphore; a thread of ours does the rest. */
#include "interpose/leave.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "session/context.h"
#include "session/nodes.h"
#include "session/ranks.h"

enum end { END_OPEN, END_BY_SIGNAL, END_BY_PROGRAM };

static struct {
    struct tic_session *session; /* immutable once armed */
    sem_t wanted;
    _Atomic int signal; /* the first that came, or 0 */
    _Atomic int end;    /* enum end; whoever changes it first ends the process */
    /* owner thread only, for each signal of STARPU_TIC_STOP: */
    bool was_default[TIC_STOP_SIGNALS];        /* before StarPU started */
    int armed[TIC_STOP_SIGNALS];               /* its action is ours; 0: not */
    struct sigaction before[TIC_STOP_SIGNALS]; /* what it was */
} leave;

/* A child that the program has forked, and that executes nothing else, inherits the handler: the
 * signal ends it as it would without us. */
static void on_signal(int signal)
{
    int error = errno, none = 0;

    if (getpid() != leave.session->process) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(signal, &action, NULL);
        raise(signal); /* when this handler returns */
    } else if (atomic_compare_exchange_strong(&leave.signal, &none, signal)) {
        sem_post(&leave.wanted); /* others that come until the end are part of the same wish */
    }
    errno = error;
}

/* What skipped tasks have printed nobody prints again. */
static void flush_output(void)
{
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
}

/* As if we were not there: nothing would be kept. */
static void die(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(signal, &action, NULL);
    kill(getpid(), signal);
}

static const char *describe(int status)
{
    return status == 0   ? "a checkpoint is taken"
           : status == 1 ? "there was nothing new to save, or it could not be compared with memory"
                         : "no checkpoint could be taken any more";
}

static bool take_end(enum end end)
{
    int open = END_OPEN;

    return atomic_compare_exchange_strong(&leave.end, &open, (int)end);
}

static void *wait_for_signal(void *arg)
{
    struct tic_session *session = arg;

    pthread_setname_np(pthread_self(), "tic-leave");
    while (sem_wait(&leave.wanted) != 0)
        ;
    int signal = atomic_load(&leave.signal), status = tic_snapshot_take(&session->snapshot);
    bool lost = status != 0 && tic_ranks_library() &&
                tic_ranks_library()->step() == TIC_RANKS_UNKNOWN; /* the signal ends all ranks */
    if (tic_snapshot_is_broken(&session->snapshot) || lost) {
        die(signal);
        return NULL;
    }
    if (!take_end(END_BY_SIGNAL))
        return NULL;
    flush_output();
    if (session->beacon) /* a shell that a signal kills as well does not tell */
        atomic_store(&session->beacon->stopped, TIC_EXIT_STOPPED);
    tic_stop(TIC_EXIT_STOPPED, "stopped by signal %d (%s): %s. The same command goes on from %s",
             signal, strsignal(signal), describe(status),
             atomic_load(&session->store.has_line) ? "the last recovery line" : "the start");
}

static bool is_default(int signal)
{
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == SIG_DFL;
}

static void arm_signal(unsigned place, int signal)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (signal == SIGUSR1 && tic_nodes_has_slaves()) /* it may come a thousand times in a second */
        tic_log(TIC_LOG_WARN,
                "StarPU uses signal %d (%s) itself: it does not stop the program with a checkpoint "
                "(STARPU_TIC_STOP)",
                signal, strsignal(signal));
    else if (!is_default(signal) && !leave.was_default[place])
        tic_log(TIC_LOG_INFO,
                "the program handles or ignores signal %d (%s): it takes no last checkpoint "
                "(STARPU_TIC_STOP)",
                signal, strsignal(signal));
    else if (sigaction(signal, &action, &leave.before[place]) == 0)
        leave.armed[place] = signal;
}

void tic_leave_note_program(void)
{
    for (unsigned i = 0; i < TIC_STOP_SIGNALS; i++)
        leave.was_default[i] = is_default(tic_stop_signals[i].number);
}

void tic_leave_arm(struct tic_session *session)
{
    pthread_t thread;

    if (session->settings.stop == 0 || session->report || leave.session)
        return;
    leave.session = session;
    sem_init(&leave.wanted, 0, 0);
    if (tic_thread_start_beside(&thread, wait_for_signal, session) != 0) {
        tic_log(TIC_LOG_WARN, "STARPU_TIC_STOP has no effect: cannot create a thread");
        return;
    }
    pthread_detach(thread);
    for (unsigned i = 0; i < TIC_STOP_SIGNALS; i++)
        if (session->settings.stop & (1u << i))
            arm_signal(i, tic_stop_signals[i].number);
}

void tic_leave_disarm(void)
{
    struct sigaction action;

    for (unsigned i = 0; i < TIC_STOP_SIGNALS; i++)
        if (leave.armed[i] && sigaction(leave.armed[i], NULL, &action) == 0 &&
            !(action.sa_flags & SA_SIGINFO) && action.sa_handler == on_signal)
            sigaction(leave.armed[i], &leave.before[i], NULL);
    while (leave.session && !take_end(END_BY_PROGRAM))
        pause(); /* the other thread is about to end the process */
}
