/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small StarPU for tests: the functions of StarPU's table that the plug-in and small programs
 * need, with one memory node and workers that take turns (turns.h). Data: variables and vectors.
 * Kept as in StarPU: sequential consistency, explicit dependencies, tags, accesses granted in
 * order, accesses of main() and by callback, data without a home node, invalidation, control tasks,
 * and the order of events at the end of a task: data released, post_exec_hook, successors,
 * callback. Functions that it lacks end the process with a message. */
#ifndef TIC_REPLAY_FAKE_H
#define TIC_REPLAY_FAKE_H

#include <starpu.h>
#include <starpu_scheduler.h>

#include "fake_status.h"

/* Puts tasks into the list from which workers take them. */
extern struct starpu_sched_policy tic_fake_policy;

/* What decides between `count` ready tasks; NULL: the first. Set before starpu_init. */
extern unsigned (*tic_fake_choose_task)(unsigned count);
/* What hears of events, for a trace; NULL: nobody. */
extern void (*tic_fake_tell)(const char *event, const char *name);

#endif
