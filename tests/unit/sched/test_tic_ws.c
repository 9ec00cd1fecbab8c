/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the locks under which tic-ws counts tasks in StarPU's lists of contexts. */
#include <stdlib.h>

#include "base/error.h"
#include "lib/testing.h"
#include "real/real.h"
#include "sched/tic_ws.h"

enum { WORKERS = 2 };

struct tic_real tic_real;
static void *policy_data;
static int here, locked = -1, counted[WORKERS];

bool tic_real_resolve(const char **missing)
{
    (void)missing;
    return true;
}

void tic_stop(enum tic_exit status, const char *format, ...)
{
    (void)format;
    exit(status);
}

static void set_data(unsigned context, void *data)
{
    (void)context;
    policy_data = data;
}

static void *get_data(unsigned context)
{
    (void)context;
    return policy_data;
}

static unsigned count_workers(void)
{
    return WORKERS;
}

static struct starpu_tree *no_tree(void)
{
    return NULL;
}

static int no_place(int worker)
{
    (void)worker;
    return -1;
}

static int is_set(unsigned context)
{
    return context == 0;
}

static void share_tasks(int worker, int context)
{
    (void)worker;
    (void)context;
}

static int which_worker(void)
{
    return here;
}

static int can_execute(unsigned worker, struct starpu_task *task, unsigned *implementation)
{
    (void)worker;
    (void)task;
    if (implementation)
        *implementation = 0;
    return 1;
}

static void set_implementation(struct starpu_task *task, unsigned implementation)
{
    (void)task;
    (void)implementation;
}

static int end_push(struct starpu_task *task)
{
    (void)task;
    return 0;
}

static struct starpu_task *no_task(void)
{
    return NULL;
}

static int wake(int worker)
{
    (void)worker;
    return 0;
}

static void lock_worker(int worker)
{
    assert_int_equal(locked, -1);
    locked = worker;
}

static void unlock_worker(int worker)
{
    assert_int_equal(locked, worker);
    locked = -1;
}

/* StarPU's own function locks the worker. */
static void count_up(unsigned context, int worker)
{
    (void)context;
    counted[worker]++;
}

/* StarPU's own function locks nothing. */
static void count_down(unsigned context, int worker)
{
    (void)context;
    assert_true(worker == here || worker == locked);
    counted[worker]--;
}

static int start(void **state)
{
    int workers[WORKERS] = {0, 1};

    (void)state;
    tic_real.starpu_sched_ctx_set_policy_data = set_data;
    tic_real.starpu_sched_ctx_get_policy_data = get_data;
    tic_real.starpu_worker_get_count = count_workers;
    tic_real.starpu_workers_get_tree = no_tree;
    tic_real.starpu_worker_get_bindid = no_place;
    tic_real.starpu_sched_ctx_min_priority_is_set = is_set;
    tic_real.starpu_sched_ctx_max_priority_is_set = is_set;
    tic_real.starpu_sched_ctx_worker_shares_tasks_lists = share_tasks;
    tic_real.starpu_worker_get_id = which_worker;
    tic_real.starpu_worker_can_execute_task_first_impl = can_execute;
    tic_real.starpu_task_set_implementation = set_implementation;
    tic_real.starpu_push_task_end = end_push;
    tic_real.starpu_task_get_current = no_task;
    tic_real.starpu_wake_worker_relax_light = wake;
    tic_real.starpu_worker_lock = lock_worker;
    tic_real.starpu_worker_unlock = unlock_worker;
    tic_real.starpu_sched_ctx_list_task_counters_increment = count_up;
    tic_real.starpu_sched_ctx_list_task_counters_decrement = count_down;
    tic_ws_policy.init_sched(0);
    tic_ws_policy.add_workers(0, workers, WORKERS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tic_ws_policy.deinit_sched(0);
    return 0;
}

/* The worker takes its own task, then the other one's. */
static void test_victim_is_locked(void **state)
{
    struct starpu_task tasks[WORKERS] = {0};

    (void)state;
    for (here = 0; here < WORKERS; here++)
        tic_ws_policy.push_task(&tasks[here]);
    here = 0;
    assert_ptr_equal(tic_ws_policy.pop_task(0), &tasks[0]);
    assert_int_equal(tic_ws_victim_of(&tasks[0]), -1);
    assert_ptr_equal(tic_ws_policy.pop_task(0), &tasks[1]);
    assert_int_equal(tic_ws_victim_of(&tasks[1]), 1);
    assert_null(tic_ws_policy.pop_task(0));
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(counted[i], 0);
    assert_int_equal(locked, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_victim_is_locked, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
