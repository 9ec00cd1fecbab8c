/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/newer.c that are not protected yet: dup-ro (a read-only duplicate), retry (a
 * task that is tried again), epilogue, transaction, returns (cl_ret by the kernel), returns-late
 * (cl_ret by the program), release-to, bubble. */
#include "lib/newer.h"

#if TIC_STARPU_1_4

static struct starpu_task *build_step(int which, int number)
{
    struct starpu_task *task = starpu_task_build(&step_codelet, STARPU_RW, handles[which],
                                                 STARPU_VALUE, &number, sizeof(number), 0);
    must(task ? 0 : -1);
    return task;
}

/* The mode comes after some tasks that are like any. */
static struct starpu_task *after_steps(void)
{
    submit_steps(0);
    return build_step(0, LENGTH);
}

static void take(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[0]) * 7 + *variable(buffers[1]);
}

static struct starpu_codelet take_codelet = {
    .cpu_funcs = {take}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "take"};

void run_dup_ro(void)
{
    starpu_data_handle_t copy;

    submit_steps(0);
    must(starpu_data_dup_ro(&copy, handles[0], 1));
    submit_step(0, LENGTH);
    must(starpu_task_insert(&take_codelet, STARPU_RW, handles[1], STARPU_R, copy, 0));
    starpu_data_unregister(copy);
}

static void bump(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 11;
}

static struct starpu_codelet bump_codelet = {
    .cpu_funcs = {bump}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "bump"};

void run_retry(void)
{
    submit_steps(0);
    must(starpu_task_insert(&bump_codelet, STARPU_RW, handles[0], STARPU_PROLOGUE_CALLBACK,
                            starpu_task_ft_prologue, STARPU_PROLOGUE_CALLBACK_ARG_NFREE, NULL, 0));
    submit_step(0, 1);
}

static void count_one(void *arg)
{
    (void)arg;
    count(1);
}

void run_epilogue(void)
{
    struct starpu_task *task = after_steps();

    task->epilogue_callback_func = count_one;
    must(starpu_task_submit(task));
}

static int begin(void *descriptor, void *arg)
{
    (void)descriptor;
    (void)arg;
    return 1;
}

/* StarPU adds a buffer to tasks of transactions. */
static struct starpu_codelet some_codelet = {
    .cpu_funcs = {bump}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "some"};

void run_transaction(void)
{
    submit_steps(0);
    struct starpu_transaction *transaction = starpu_transaction_open(begin, NULL);
    must(transaction ? 0 : -1);
    for (int number = 0; number < 4; number++)
        must(starpu_task_insert(&some_codelet, STARPU_RW, handles[0], STARPU_TRANSACTION,
                                transaction, 0));
    starpu_transaction_close(transaction);
}

/* ---- results in cl_ret ---------------------------------------------------------------------- */

static void return_value(void *buffers[], void *arg)
{
    struct starpu_task *task = starpu_task_get_current();

    (void)arg;
    *variable(buffers[0]) += 3;
    task->cl_ret = malloc(sizeof(uint64_t));
    task->cl_ret_size = sizeof(uint64_t);
    task->cl_ret_free = 1;
    *(uint64_t *)task->cl_ret = *variable(buffers[0]);
}

static void count_returned(void *arg)
{
    (void)arg;
    count(*(uint64_t *)starpu_task_get_current()->cl_ret);
}

static struct starpu_codelet return_codelet = {
    .cpu_funcs = {return_value}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "returns"};

void run_returns(void)
{
    submit_steps(0);
    must(starpu_task_insert(&return_codelet, STARPU_RW, handles[0], STARPU_CALLBACK, count_returned,
                            0));
}

static void write_returned(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 3;
    *(uint64_t *)starpu_task_get_current()->cl_ret = *variable(buffers[0]);
}

static struct starpu_codelet write_codelet = {
    .cpu_funcs = {write_returned}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "returns-late"};

void run_returns_late(void)
{
    static uint64_t returned;
    struct starpu_task *task;

    submit_steps(0);
    task = starpu_task_build(&write_codelet, STARPU_RW, handles[0], 0);
    must(task ? 0 : -1);
    task->cl_ret = &returned;
    task->cl_ret_size = sizeof(returned);
    must(starpu_task_submit(task));
    must(starpu_task_wait_for_all());
    count(returned);
}

/* ---- the rest ------------------------------------------------------------------------------- */

void run_release_to(void)
{
    submit_steps(0);
    must(starpu_data_acquire(handles[0], STARPU_RW));
    values[0] += 7;
    starpu_data_release_to(handles[0], STARPU_R);
    must(starpu_task_insert(&take_codelet, STARPU_RW, handles[1], STARPU_R, handles[0], 0));
    count(values[0]);
    starpu_data_release(handles[0]);
}

static int is_bubble(struct starpu_task *task, void *arg)
{
    (void)task;
    (void)arg;
    return 0;
}

void run_bubble(void)
{
    struct starpu_task *task = after_steps();

    task->bubble_func = is_bubble;
    must(starpu_task_submit(task));
}

#endif
