/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers of workers that main() is told, and workers that it knows and that are not there. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/told.h"

struct tic_session;

/* Does main() ask for a number of workers, while StarPU runs? */
bool tic_workers_are_asked(const void *caller);
/* The number that main() is told. Owner thread only. */
unsigned tic_workers_tell(void);
unsigned tic_workers_tell_combined(void);

/* main() is about to call this, which reaches all workers that exist. Stops a restart where main()
 * knows more of them. Owner thread only. */
void tic_workers_require_all(const char *call);

/* The worker itself, or one that stands in for it if it does not exist. */
static inline int tic_workers_stand_in(int id)
{
    unsigned told = atomic_load_explicit(&tic_workers.told, memory_order_relaxed);
    unsigned first = tic_workers.count + tic_workers.combined;
    unsigned known = told > 0 ? told : tic_workers.earlier;

    return tic_workers.count > 0 && id >= 0 && (unsigned)id >= first && (unsigned)id < known
               ? (int)((unsigned)id % tic_workers.count)
               : id;
}

/* Before StarPU starts: no more workers than main() was told of in the recorded run. Changes conf,
 * and the environment until tic_workers_started. */
void tic_workers_start(struct tic_session *session, struct starpu_conf *conf);
void tic_workers_started(struct tic_session *session, bool success);
void tic_workers_shutdown(void);
/* The number that main() was told is in the events, or will be. Owner thread only. */
void tic_workers_note(void);
/* A task for a worker that the program knows and that does not exist gets another one. */
void tic_workers_place(struct starpu_task *task);
/* In a restart: stops it if there is no such other one, as StarPU would refuse the task, or never
 * run it. */
void tic_workers_require(const struct starpu_task *task);
