/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs about tasks: their order, data without a home node, callbacks, tasks of kernels. */
#include <stddef.h>

#include "programs.h"

#define TRUSTED "STARPU_TIC_VERIFY", "0" /* nothing holds live tasks back until main() is there */
static const char *const trusted[] = {TRUSTED, NULL};
static const char *const logged[] = {TRUSTED, "STARPU_TIC_PROTOCOL", "sel", NULL};

/* Two tasks, one after the other. */
static void chain(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

/* Two tasks beside each other, and one after both. */
static void fork_join(uint64_t *result)
{
    tic_open(2, 2);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_submit(&tic_step, tic_data[1], 5);
    tic_submit_pair(&tic_join, tic_data[0], tic_data[1]);
    tic_close(result);
}

/* Two tasks read what the next one overwrites. */
static void readers(uint64_t *result)
{
    tic_open(2, 3);
    tic_submit_pair(&tic_join, tic_data[0], tic_data[2]);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[2]);
    tic_submit(&tic_step, tic_data[2], 7);
    tic_close(result);
}

/* Data without a home node is invalidated, and StarPU frees its memory: a cut that comes late would
 * save what is there then, unless the value leaves with the invalidation. */
static void invalidate(uint64_t *result)
{
    tic_open(1, 1);
    starpu_data_handle_t homeless = tic_register_homeless();
    tic_submit(&tic_assign, homeless, 4);
    tic_submit_pair(&tic_join, tic_data[0], homeless);
    starpu_data_invalidate_submit(homeless);
    tic_submit(&tic_assign, homeless, 9);
    tic_submit_pair(&tic_join, tic_data[0], homeless);
    starpu_data_unregister(homeless);
    tic_close(result);
}

/* Invalid data gets a result of the event log, and main() reads it: StarPU must know that there is
 * a value. */
static void invalid_result(uint64_t *result)
{
    tic_open(1, 2);
    starpu_data_invalidate_submit(tic_data[1]);
    tic_submit(&tic_assign, tic_data[1], 9);
    tic_submit_pair(&tic_join, tic_data[0], tic_data[1]);
    tic_acquire(tic_data[1], STARPU_R);
    result[5] = tic_values[1];
    starpu_data_release(tic_data[1]);
    tic_close(result);
}

/* Tasks that take turns at one datum, in any order, count in arguments that they share. StarPU
 * gives the datum to the next one before the plug-in hears that the last one has ended. */
static uint64_t counted;

static void count(void *buffers[], void *arg)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    *(uint64_t *)arg += 1;
}

static struct starpu_codelet counting = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count"};

static void shared_arguments(uint64_t *result)
{
    enum { COUNTS = 2 };

    counted = 0;
    tic_open(2, 1);
    for (unsigned i = 0; i < COUNTS; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &counting;
        task->handles[0] = tic_data[0];
        task->cl_arg = &counted;
        task->cl_arg_size = sizeof(counted);
        task->sequential_consistency = 0;
        tic_submit_built(task);
    }
    starpu_task_wait_for_all();
    result[5] = counted;
    tic_close(result);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static void submit_late(void *arg)
{
    tic_submit(&tic_step, arg, 100);
}

/* The callback's task comes after one that main() submits while it holds what the first waits for.
 * A restart that skips the first one has its callback at once, unless it is held back. */
static void late_callback(uint64_t *result)
{
    tic_open(1, 3);
    tic_acquire(tic_data[0], STARPU_RW);
    struct starpu_task *task = tic_build_pair(&tic_join, tic_data[1], tic_data[0]);
    task->callback_func = submit_late;
    task->callback_arg = tic_data[2];
    tic_submit_built(task);
    tic_submit(&tic_step, tic_data[2], 1);
    starpu_data_release(tic_data[0]);
    tic_close(result);
}

/* ---- tasks of kernels ------------------------------------------------------------------------ */

static void bear(void *buffers[], void *arg)
{
    uint64_t *value = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    (void)arg;
    *value = *value * 31 + 7;
    tic_submit(&tic_step, tic_data[2], 100);
}

static struct starpu_codelet parent = {
    .cpu_funcs = {bear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "parent"};

/* The kernel's task comes after one of main(), as the kernel waits for a task that waits for what
 * main() holds. A restart that skips this one has the kernel at once, and its task is held back. */
static void late_child(uint64_t *result)
{
    tic_open(1, 3);
    tic_acquire(tic_data[0], STARPU_RW);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_submit(&parent, tic_data[1], 0);
    tic_submit_pair(&tic_join, tic_data[2], tic_data[0]);
    tic_submit(&tic_step, tic_data[2], 1);
    starpu_data_release(tic_data[0]);
    tic_close(result);
}

const struct tic_program tic_programs_tasks[] = {
    {"chain", chain, NULL, false, NULL, 1, 1, 1, 1, false},
    {"chain-trusted", chain, trusted, false, NULL, 1, 1, 1, 1, false},
    {"chain-logged", chain, logged, true, NULL, 1, 1, 1, 1, false},
    {"chain-twice", chain, NULL, false, NULL, 0, 0, 1, 2, false},
    {"chain-twice-trusted", chain, trusted, false, NULL, 0, 0, 1, 2, false},
    {"fork-join", fork_join, NULL, false, NULL, 0, 0, 1, 1, true},
    {"fork-join-trusted", fork_join, trusted, false, NULL, 0, 0, 1, 1, false},
    {"readers", readers, trusted, false, NULL, 0, 0, 1, 1, true},
    {"invalidate", invalidate, NULL, false, NULL, 0, 0, 1, 1, true},
    {"invalidate-late", invalidate, NULL, false, "checkpoint-cut", 0, 0, 1, 1, false},
    {"invalidate-trusted", invalidate, trusted, false, NULL, 0, 0, 1, 1, true},
    {"invalid-result", invalid_result, logged, true, NULL, 0, 1, 1, 1, false},
    {"shared-arguments", shared_arguments, NULL, false, NULL, 1, 0, 1, 1, false},
    {"late-callback", late_callback, NULL, false, NULL, 1, 1, 1, 1, false},
    {"late-callback-trusted", late_callback, trusted, false, NULL, 1, 1, 1, 1, false},
    {"late-callback-twice", late_callback, NULL, false, NULL, 0, 0, 1, 2, true},
    {"late-child-twice", late_child, NULL, false, NULL, 0, 0, 1, 2, true},
    {"late-child", late_child, NULL, false, NULL, 0, 1, 1, 1, false},
    {"late-child-trusted", late_child, trusted, false, NULL, 0, 1, 1, 1, false},
    {NULL, NULL, NULL, false, NULL, 0, 0, 0, 0, false},
};
