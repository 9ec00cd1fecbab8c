/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/fault.h"

__thread sigjmp_buf *tic_fault_landing __attribute__((tls_model("initial-exec")));

static const struct tic_faults *others; /* of the thread that reads */

/* A fault that is none of ours happens again, with what the program does about it. */
static void land(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (tic_fault_landing)
        siglongjmp(*tic_fault_landing, 1);
    sigaction(signal, signal == SIGBUS ? &others->bus : &others->segv, NULL);
}

void tic_faults_begin(struct tic_faults *faults)
{
    struct sigaction action = {.sa_sigaction = land, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    others = faults;
    sigaction(SIGSEGV, &action, &faults->segv);
    sigaction(SIGBUS, &action, &faults->bus);
}

void tic_faults_end(const struct tic_faults *faults)
{
    sigaction(SIGSEGV, &faults->segv, NULL);
    sigaction(SIGBUS, &faults->bus, NULL);
}
