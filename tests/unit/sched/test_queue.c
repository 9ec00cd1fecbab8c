/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a worker's queue gives out tasks as a plain array, searched from end to end, would.
 */
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"
#include "sched/queue.h"

enum { TASKS = 400, STEPS = 20000 };

static struct tic_queue queue;
static struct starpu_task tasks[TASKS];

/* The model: tasks in the order of their arrival. */
static struct starpu_task *model[TASKS];
static unsigned model_count;

static bool accept_all(struct starpu_task *task, unsigned worker)
{
    (void)task;
    (void)worker;
    return true;
}

/* The worker takes what its bit in `where` allows. */
static bool accept_by_mask(struct starpu_task *task, unsigned worker)
{
    return (uint32_t)task->where >> worker & 1;
}

static struct starpu_task *model_take(bool oldest, tic_queue_accept accept, unsigned worker)
{
    unsigned best = TASKS;

    for (unsigned i = 0; i < model_count; i++) {
        if (!accept(model[i], worker))
            continue;
        if (best == TASKS || model[i]->priority > model[best]->priority ||
            (!oldest && model[i]->priority == model[best]->priority))
            best = i;
    }
    if (best == TASKS)
        return NULL;
    struct starpu_task *task = model[best];
    memmove(&model[best], &model[best + 1], (--model_count - best) * sizeof(model[0]));
    return task;
}

static void push(struct starpu_task *task)
{
    tic_queue_push(&queue, task);
    model[model_count++] = task;
}

static void take(bool oldest, tic_queue_accept accept, unsigned worker)
{
    struct starpu_task *wanted = model_take(oldest, accept, worker);
    struct starpu_task *got =
        oldest ? tic_queue_pop(&queue, accept, worker) : tic_queue_steal(&queue, accept, worker);
    assert_ptr_equal(got, wanted);
    assert_int_equal(queue.size, model_count);
    if (got)
        assert_true(!got->prev && !got->next);
}

static void test_priorities_then_order(void **state)
{
    static const int priorities[] = {0, 5, 0, -3, 5, 0};
    static const unsigned order[] = {1, 4, 0, 2, 5, 3};
    (void)state;
    for (unsigned i = 0; i < TIC_COUNT(priorities); i++) {
        tasks[i].priority = priorities[i];
        push(&tasks[i]);
    }
    for (unsigned i = 0; i < TIC_COUNT(order); i++)
        assert_ptr_equal(tic_queue_pop(&queue, accept_all, 0), &tasks[order[i]]);
    assert_null(tic_queue_pop(&queue, accept_all, 0));
    assert_null(tic_queue_steal(&queue, accept_all, 0));
}

static void test_steal_takes_the_newest(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        push(&tasks[i]);
    assert_ptr_equal(tic_queue_steal(&queue, accept_all, 0), &tasks[2]);
    assert_ptr_equal(tic_queue_pop(&queue, accept_all, 0), &tasks[0]);
    assert_ptr_equal(tic_queue_steal(&queue, accept_all, 0), &tasks[1]);
    assert_int_equal(queue.size, 0);
}

static void test_refused_tasks_stay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        tasks[i].where = i == 1 ? 2 : 1;
        push(&tasks[i]);
    }
    assert_ptr_equal(tic_queue_pop(&queue, accept_by_mask, 1), &tasks[1]);
    assert_null(tic_queue_pop(&queue, accept_by_mask, 1));
    assert_int_equal(queue.size, 2);
    assert_ptr_equal(tic_queue_pop(&queue, accept_by_mask, 0), &tasks[0]);
    assert_ptr_equal(tic_queue_pop(&queue, accept_by_mask, 0), &tasks[2]);
}

/* Any mix of pushes, pops and steals by workers that accept different tasks. */
static void test_random(void **state)
{
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    for (int step = 0; step < STEPS; step++) {
        struct starpu_task *idle = NULL;
        for (unsigned i = 0; i < TASKS && !idle; i++)
            idle = tasks[i].flops == 0.0 ? &tasks[i] : NULL;
        if (idle && tic_random_below(&random, 2)) {
            idle->priority = (int)tic_random_below(&random, 9) - 4;
            idle->where = (int32_t)tic_random_below(&random, 16);
            idle->flops = 1.0; /* it is in the queue; masks of 0 stay there for ever */
            push(idle);
            continue;
        }
        bool oldest = tic_random_below(&random, 2) == 0;
        unsigned worker = (unsigned)tic_random_below(&random, 4);
        take(oldest, tic_random_below(&random, 8) ? accept_by_mask : accept_all, worker);
        for (unsigned i = 0; i < TASKS; i++)
            tasks[i].flops = 0.0;
        for (unsigned i = 0; i < model_count; i++)
            model[i]->flops = 1.0;
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(tasks, 0, sizeof(tasks));
    model_count = 0;
    tic_queue_init(&queue);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_queue_fini(&queue);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_priorities_then_order),
        TEST(test_steal_takes_the_newest),
        TEST(test_refused_tasks_stay),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
