/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker's queue of ready tasks: by priority, first in first out within one. The caller
 * synchronises. Tasks are chained through starpu_task.prev and .next. */
#pragma once

#include <stdbool.h>

struct starpu_task;

struct tic_level_list;

struct tic_queue {
    struct tic_level_list *levels; /* descending priority; empty ones stay */
    unsigned long level_count, level_capacity;
    unsigned long size;
};

/* False: this worker cannot run the task; it is left where it is. */
typedef bool (*tic_queue_accept)(struct starpu_task *task, unsigned worker);

/* 0 or -ENOMEM. */
int tic_queue_init(struct tic_queue *queue);
void tic_queue_fini(struct tic_queue *queue);
/* Never fails: where there is no memory for one more priority, the task gets the next one. */
void tic_queue_push(struct tic_queue *queue, struct starpu_task *task);
/* The oldest acceptable task of the highest priority, or NULL. */
struct starpu_task *tic_queue_pop(struct tic_queue *queue, tic_queue_accept accept,
                                  unsigned worker);
/* The newest acceptable task of the highest priority, or NULL: what the owner would run last. */
struct starpu_task *tic_queue_steal(struct tic_queue *queue, tic_queue_accept accept,
                                    unsigned worker);
