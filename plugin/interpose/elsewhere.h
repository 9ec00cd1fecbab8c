/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel on another worker, while the worker that StarPU gave its task to waits. */
#ifndef TIC_INTERPOSE_ELSEWHERE_H
#define TIC_INTERPOSE_ELSEWHERE_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* No such worker. */
#define TIC_ELSEWHERE_NONE (-1)

struct tic_elsewhere {
    int avoid;         /* this worker, too */
    bool insists;      /* also a worker that has not come to what was asked of it last */
    uint64_t patience; /* nanoseconds */
};

/* Calls `run` on another worker that may execute the task, and waits until it has returned. The
 * worker; TIC_ELSEWHERE_NONE: there is none, or it did not come to it in time, and nothing was
 * called. On a worker, in the kernel of the task. */
int tic_elsewhere_run(void (*run)(void *), void *argument, struct starpu_task *task,
                      const struct tic_elsewhere *how);

#endif
