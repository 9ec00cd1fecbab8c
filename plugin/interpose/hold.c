/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that wait for main() to come to the recovered cut, and whose structures stay: StarPU would
 * ask these for a dependency on the gate of position.c each time that they are submitted. They are
 * held where StarPU hands them to the scheduling policy. */
#include "interpose/hold.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "session/contexts.h"
#include "session/task.h"

struct item {
    struct starpu_task *task;
    void (*run)(void *); /* what comes before it; or NULL */
    void *argument;
};

struct list {
    struct item *items;
    unsigned long count, capacity;
};

static struct {
    pthread_mutex_t mutex; /* a leaf: StarPU hands tasks over under locks of its own */
    _Atomic unsigned long expected_count; /* 0: every task goes on */
    struct list expected, held;           /* submitted; handed over */
} hold = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool append(struct list *list, const struct item *item)
{
    struct item *grown =
        tic_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));

    if (grown) {
        list->items = grown;
        list->items[list->count++] = *item;
    }
    return grown;
}

static struct item *find(struct list *list, const struct starpu_task *task)
{
    unsigned long i = 0;

    while (i < list->count && list->items[i].task != task)
        i++;
    return i < list->count ? &list->items[i] : NULL;
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
    bool fine = append(&hold.expected, &(struct item){.task = task});
    atomic_store(&hold.expected_count, hold.expected.count);
    pthread_mutex_unlock(&hold.mutex);
    if (!fine)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return true;
}

bool tic_hold_put_off(struct starpu_task *task, void (*run)(void *), void *argument)
{
    pthread_mutex_lock(&hold.mutex);
    struct item *item = find(&hold.expected, task);
    if (item) {
        item->run = run;
        item->argument = argument;
    }
    pthread_mutex_unlock(&hold.mutex);
    return item != NULL;
}

bool tic_hold_take(struct starpu_task *task)
{
    if (__builtin_expect(atomic_load(&hold.expected_count) == 0, 1))
        return false;
    pthread_mutex_lock(&hold.mutex);
    struct item *item = find(&hold.expected, task);
    bool held = item != NULL;
    if (held) {
        if (!append(&hold.held, item))
            tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
        *item = hold.expected.items[--hold.expected.count];
    }
    atomic_store(&hold.expected_count, hold.expected.count);
    pthread_mutex_unlock(&hold.mutex);
    return held;
}

/* One whose prologue was put off is on its way to the policy, unless StarPU keeps it: it has no
 * worker yet. */
static bool is_on_its_way_locked(void)
{
    unsigned long i = 0;

    while (i < hold.expected.count && !hold.expected.items[i].run)
        i++;
    return i < hold.expected.count;
}

static void await_those_on_their_way(void)
{
    const struct timespec pause = {.tv_nsec = 50000};
    bool waits = true;

    for (unsigned tries = 0; waits && tries < 20000; tries++) {
        pthread_mutex_lock(&hold.mutex);
        waits = is_on_its_way_locked();
        pthread_mutex_unlock(&hold.mutex);
        if (waits)
            nanosleep(&pause, NULL);
    }
}

static void run_first(const struct list *list)
{
    for (unsigned long i = 0; i < list->count; i++)
        if (list->items[i].run)
            list->items[i].run(list->items[i].argument);
}

void tic_hold_release(void)
{
    await_those_on_their_way();
    pthread_mutex_lock(&hold.mutex);
    struct list held = hold.held, expected = hold.expected;
    hold.expected = hold.held = (struct list){NULL, 0, 0};
    atomic_store(&hold.expected_count, 0);
    pthread_mutex_unlock(&hold.mutex);
    run_first(&held);
    run_first(&expected);
    for (unsigned long i = 0; i < held.count; i++)
        tic_hooks_push(held.items[i].task);
    free(held.items);
    free(expected.items);
}
