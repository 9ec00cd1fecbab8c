/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that wait for main() to come to the recovered cut, and whose structures stay: StarPU would
 * ask these for a dependency on the gate of position.c each time that they are submitted. They are
 * held where StarPU hands them to the scheduling policy. */
#include "interpose/hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "session/contexts.h"
#include "session/task.h"

struct list {
    struct starpu_task **items;
    unsigned long count, capacity;
};

static struct {
    pthread_mutex_t mutex; /* a leaf: StarPU hands tasks over under locks of its own */
    _Atomic unsigned long expected_count; /* 0: every task goes on */
    struct list expected, held;           /* submitted; handed over */
} hold = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool append(struct list *list, struct starpu_task *task)
{
    struct starpu_task **grown =
        tic_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));

    if (grown) {
        list->items = grown;
        list->items[list->count++] = task;
    }
    return grown;
}

static bool take(struct list *list, const struct starpu_task *task)
{
    unsigned long i = 0;

    while (i < list->count && list->items[i] != task)
        i++;
    if (i == list->count)
        return false;
    list->items[i] = list->items[--list->count];
    return true;
}

/* StarPU hands it to the policy when it is ready. */
static bool comes_to_policy(const struct starpu_task *task)
{
    return !tic_task_runs_nowhere(task) && !task->execute_on_a_specific_worker;
}

bool tic_hold_expect(struct starpu_task *task)
{
    if (!comes_to_policy(task))
        return false;
    pthread_mutex_lock(&hold.mutex);
    bool fine = append(&hold.expected, task);
    atomic_store(&hold.expected_count, hold.expected.count);
    pthread_mutex_unlock(&hold.mutex);
    if (!fine)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return true;
}

bool tic_hold_take(struct starpu_task *task)
{
    if (__builtin_expect(atomic_load(&hold.expected_count) == 0, 1))
        return false;
    pthread_mutex_lock(&hold.mutex);
    bool held = take(&hold.expected, task);
    if (held && !append(&hold.held, task))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    atomic_store(&hold.expected_count, hold.expected.count);
    pthread_mutex_unlock(&hold.mutex);
    return held;
}

void tic_hold_release(void)
{
    pthread_mutex_lock(&hold.mutex);
    struct list held = hold.held;
    free(hold.expected.items);
    hold.expected = hold.held = (struct list){NULL, 0, 0};
    atomic_store(&hold.expected_count, 0);
    pthread_mutex_unlock(&hold.mutex);
    for (unsigned long i = 0; i < held.count; i++)
        tic_hooks_push(held.items[i]);
    free(held.items);
}
