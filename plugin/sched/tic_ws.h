/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tic-ws: a StarPU scheduling policy by work stealing. */
#pragma once

#include <stdint.h>

struct starpu_task;

struct starpu_sched_policy;

#define TIC_WS_NAME "tic-ws"

extern struct starpu_sched_policy tic_ws_policy;
/* Tasks taken from another worker's queue, by all instances of the policy since the start. */
uint64_t tic_ws_thefts(void);
/* The worker from which the calling one has stolen the task, which it has; -1: it has not. */
int tic_ws_victim_of(const struct starpu_task *task);
