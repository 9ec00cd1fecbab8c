/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executions of a kernel, each with as many tries as it needs: a kernel may say that it has failed
 * (starpu_tic_task_failed). What the task writes is put back then, and the kernel is executed
 * again, on another worker where one comes to it soon. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose/undo.h"
#include "session/kernels.h"

enum { TIC_RETRY_SHOWN = 8, TIC_RETRY_ANYWHERE = -1 };

/* A task whose kernel is to be executed, on the stack of the worker that StarPU gave it to. Written
 * by that worker, and by the one that executes the kernel for it while it waits. */
struct tic_execution {
    struct starpu_task *task;
    struct tic_kernel *kernel;
    void **buffers;
    void *argument;
    uint64_t number;     /* of its submission by main(); TIC_RETRY_NO_NUMBER */
    uint64_t key;        /* of the task in each run, if protection knows it */
    int worker;          /* that StarPU gave the task to */
    const char *why_not; /* it cannot be executed again; NULL: it can */
    struct tic_undo undo;
    bool failed;        /* the last try */
    bool checks;        /* it is executed to be compared: what it submits would be there twice */
    unsigned submitted; /* tasks, by the last try */
    uint64_t took;      /* nanoseconds, the first try */
    unsigned tries;
    int workers[TIC_RETRY_SHOWN]; /* of the first tries */
};
#define TIC_RETRY_NO_NUMBER UINT64_MAX

/* How many more tries an execution has (STARPU_TIC_RETRIES), and for how many seconds it waits for
 * another worker (STARPU_TIC_ELSEWHERE; 0: it does not). Before the first execution. */
void tic_retry_set(unsigned long retries, double patience);

/* Executes the kernel until it does not fail: the worker of the last try. With elsewhere on another
 * worker than avoid, which may be this one. Ends the process with TIC_EXIT_FAILED where it fails
 * too often, or cannot be executed again. On the worker that has the task. */
int tic_retry_execute(struct tic_execution *execution, bool elsewhere, int avoid);

/* Is this thread inside of such an execution? */
bool tic_retry_is_inside(void);
/* Its kernel fails. False: this thread is in no kernel of a task. Does not return where it is in
 * one that cannot be executed again. */
bool tic_retry_note_failed(void);
/* Its kernel submits a task. */
void tic_retry_note_submission(void);

/* "task \"name\" (submission 17)". */
void tic_retry_describe(const struct starpu_task *task, uint64_t number, char *text, size_t size);
/* Where a restart goes on, as the end of a message; "" where there is none. */
const char *tic_retry_tell_lines(char *text, size_t size);
