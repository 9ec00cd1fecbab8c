/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading memory of the program that may be gone: a fault of this thread ends the read. */
#ifndef TIC_BASE_FAULT_H
#define TIC_BASE_FAULT_H

#include <setjmp.h>
#include <signal.h>

/* Where a fault of this thread goes, between begin and end; NULL: it is the program's own. */
extern __thread sigjmp_buf *tic_fault_landing __attribute__((tls_model("initial-exec")));

struct tic_faults {
    struct sigaction segv, bus; /* what the program does about them */
};

/* One thread at a time; not while others may change these signals. */
void tic_faults_begin(struct tic_faults *faults);
void tic_faults_end(const struct tic_faults *faults);

#endif
