/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/fault.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

/* Where a fault of this thread goes, between begin and end; NULL: it is the program's own. */
static __thread sigjmp_buf *landing __attribute__((tls_model("initial-exec")));

static struct {
    pthread_mutex_t mutex;
    unsigned users;
    struct sigaction segv, bus; /* what the program does about them */
} faults = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* A fault that is none of ours happens again, with what the program does about it. */
static void land(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (landing)
        siglongjmp(*landing, 1);
    sigaction(signal, signal == SIGBUS ? &faults.bus : &faults.segv, NULL);
}

static void give_back(int signal, const struct sigaction *before)
{
    struct sigaction now;

    if (sigaction(signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == land)
        sigaction(signal, before, NULL);
}

void tic_faults_begin(void)
{
    struct sigaction action = {.sa_sigaction = land, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&faults.mutex);
    if (faults.users++ == 0) {
        sigaction(SIGSEGV, &action, &faults.segv);
        sigaction(SIGBUS, &action, &faults.bus);
    }
    pthread_mutex_unlock(&faults.mutex);
}

void tic_faults_end(void)
{
    pthread_mutex_lock(&faults.mutex);
    if (--faults.users == 0) {
        give_back(SIGSEGV, &faults.segv);
        give_back(SIGBUS, &faults.bus);
    }
    pthread_mutex_unlock(&faults.mutex);
}

/* The mask of signals is that of before, but for the one that came. */
bool tic_fault_try(void (*read)(void *arg), void *arg)
{
    sigjmp_buf here;
    sigset_t came;

    if (sigsetjmp(here, 0) != 0) {
        landing = NULL;
        sigemptyset(&came);
        sigaddset(&came, SIGSEGV);
        sigaddset(&came, SIGBUS);
        pthread_sigmask(SIG_UNBLOCK, &came, NULL);
        return false;
    }
    landing = &here;
    read(arg);
    landing = NULL;
    return true;
}
