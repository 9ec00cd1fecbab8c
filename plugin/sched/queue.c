/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker's queue of ready tasks: by priority, first in first out within one. */
#include "sched/queue.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct tic_level_list {
    int priority;
    struct starpu_task *first, *last;
};

int tic_queue_init(struct tic_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    return tic_reserve(queue->levels, queue->level_capacity, 1);
}

void tic_queue_fini(struct tic_queue *queue)
{
    free(queue->levels);
    memset(queue, 0, sizeof(*queue));
}

/* Index of the first level whose priority is <= the given one. */
static unsigned long find_level(const struct tic_queue *queue, int priority)
{
    unsigned long low = 0, high = queue->level_count;
    while (low < high) {
        unsigned long middle = (low + high) / 2;
        if (queue->levels[middle].priority > priority)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The level of this priority, made if need be. */
static struct tic_level_list *level_of(struct tic_queue *queue, int priority)
{
    unsigned long at = find_level(queue, priority), count = queue->level_count;

    if (at < count && queue->levels[at].priority == priority)
        return &queue->levels[at];
    if (tic_insert(queue->levels, queue->level_count, queue->level_capacity, at,
                   &(struct tic_level_list){.priority = priority}) != 0)
        /* then there are some: the first ones were allocated at the start */
        return &queue->levels[at < count ? at : count - 1];
    return &queue->levels[at];
}

void tic_queue_push(struct tic_queue *queue, struct starpu_task *task)
{
    struct tic_level_list *level = level_of(queue, task->priority);
    task->prev = level->last;
    task->next = NULL;
    if (level->last)
        level->last->next = task;
    else
        level->first = task;
    level->last = task;
    queue->size++;
}

static void unlink_task(struct tic_queue *queue, struct tic_level_list *level,
                        struct starpu_task *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        level->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        level->last = task->prev;
    task->prev = task->next = NULL;
    queue->size--;
}

static struct starpu_task *take(struct tic_queue *queue, bool oldest, tic_queue_accept accept,
                                unsigned worker)
{
    for (unsigned long i = 0; i < queue->level_count && queue->size > 0; i++) {
        struct tic_level_list *level = &queue->levels[i];
        struct starpu_task *task = oldest ? level->first : level->last;
        while (task && !accept(task, worker))
            task = oldest ? task->next : task->prev;
        if (task) {
            unlink_task(queue, level, task);
            return task;
        }
    }
    return NULL;
}

struct starpu_task *tic_queue_pop(struct tic_queue *queue, tic_queue_accept accept, unsigned worker)
{
    return take(queue, true, accept, worker);
}

struct starpu_task *tic_queue_steal(struct tic_queue *queue, tic_queue_accept accept,
                                    unsigned worker)
{
    return take(queue, false, accept, worker);
}
