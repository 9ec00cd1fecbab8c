/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose kernels fail, or compute something wrong, at known places: failing MODE
 * [TASKS]. Prints a hash of all data. Of each task the kernel spoils what it writes before it says
 * that it has failed.
 *   plain      no kernel fails
 *   random     each execution fails with 5 percent, by a generator of its worker
 *   worker     each execution on worker 0 fails
 *   first      the first execution of each seventh task on its worker
 *   always     task 100 fails whatever happens
 *   spawns     the first execution of task 100 on worker 0 submits a task, and fails
 *   spawned    executions on worker 0 fail, others submit a task
 *   twice      data is registered twice, and a task that writes it fails
 *   flips      worker 1 flips a bit in each thousandth task, and says nothing
 *   flips-args worker 1 changes the arguments of task 100
 *   differs    task 100 computes another value each time
 *   prints     tasks that write only data without content print
 * F_DECLARE=0: the program declares no codelet. F_LONG: microseconds of each task. */
#include <errno.h>
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

enum { VECTORS = 8, LENGTH = 300, ROWS = 12, COLUMNS = 10, PARTS = 2, SPECIAL = 100 };

static uint64_t vectors[VECTORS][LENGTH], sums[VECTORS], counts[VECTORS], matrix[ROWS * COLUMNS];
static starpu_data_handle_t order, vector_handles[VECTORS], sum_handles[VECTORS],
    count_handles[VECTORS], matrix_handle, again;
static const char *mode;
static long busy;

static void must(int status)
{
    if (status != 0)
        abort();
}

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

/* Not in variables of the program: what tasks write there would be found. */
static __thread uint64_t executed;
static __thread int last_failed = -1;

static int fails(int number)
{
    const int worker = starpu_worker_get_id();

    executed++;
    if (is("random"))
        return mix((uint64_t)worker * 1000003 + executed) % 100 < 5;
    if (is("first") && number % 7 == 0) {
        int again_here = last_failed == number;
        last_failed = number;
        return !again_here && worker % 2 == number % 2; /* also if one executes all */
    }
    if (is("worker") || is("spawned"))
        return worker == 0;
    return (is("always") && number == SPECIAL) ||
           (is("spawns") && number == SPECIAL && worker == 0) || (is("twice") && number == SPECIAL);
}

static void spin(void)
{
    const double end = starpu_timing_now() + (double)busy;

    while (busy > 0 && starpu_timing_now() < end)
        ;
}

static void child(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 17;
}

static struct starpu_codelet child_codelet = {
    .cpu_funcs = {child}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "child"};

static void submit_child(int number)
{
    must(starpu_task_insert(&child_codelet, STARPU_RW, count_handles[number % VECTORS], 0));
}

static void step(void *buffers[], void *arg)
{
    uint64_t *own = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *other = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    uint64_t *sum = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[2]);
    const int failed = fails(*(int *)arg), number = *(int *)arg, worker = starpu_worker_get_id();

    if (strcmp(starpu_task_get_current()->cl->name, "step") != 0)
        abort();
    spin();
    if (failed && is("spawns"))
        submit_child(number);
    *sum = 0;
    for (int i = 0; i < LENGTH; i++) {
        own[i] = own[i] * 31 + other[i] + (uint64_t)number;
        *sum += own[i];
    }
    if (is("flips") && worker == 1 && number % 1000 == 777)
        own[17] ^= UINT64_C(1) << 40;
    if (is("flips-args") && worker == 1 && number == SPECIAL)
        *(int *)arg = -1;
    if (is("differs") && number == SPECIAL)
        *sum += (uint64_t)(starpu_timing_now() * 1000.0);
    if (!failed && is("spawned") && number % 10 == 0)
        submit_child(number);
    if (!failed)
        return;
    memset(own, 0xee, LENGTH / 2 * sizeof(*own));
    *sum = 0xdead;
    *(int *)arg = 12345;
    must(starpu_tic_task_failed());
}

static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 3, .modes = {STARPU_RW, STARPU_R, STARPU_W}, .name = "step"};

/* A part of the matrix: rows with gaps. */
static void part(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
    const uint32_t nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);
    const uint32_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    int number = *(int *)arg, failed = fails(number) && !is("twice");

    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++)
            at[y * ld + x] = failed ? 0xbad : mix(at[y * ld + x] + (uint64_t)number);
    if (failed)
        must(starpu_tic_task_failed());
}

static void say(void *buffers[], void *arg)
{
    (void)buffers;
    printf("%d\n", *(int *)arg);
}

static struct starpu_codelet say_codelet = {
    .cpu_funcs = {say}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "say"};

static struct starpu_codelet part_codelet = {
    .cpu_funcs = {part}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "part"};

static void submit(int number)
{
    const int which = number % VECTORS;
    int *argument = malloc(sizeof(*argument));
    struct starpu_task *task = starpu_task_create();

    *argument = number;
    task->cl = number % 5 == 4 ? &part_codelet : &step_codelet;
    if (is("prints") && number % 50 == 0)
        task->cl = &say_codelet;
    task->cl_arg = argument;
    task->cl_arg_size = sizeof(*argument);
    task->cl_arg_free = 1;
    if (task->cl == &say_codelet) {
        task->handles[0] = order;
    } else if (number % 5 == 4) {
        task->handles[0] = starpu_data_get_sub_data(matrix_handle, 1, number % PARTS);
    } else {
        task->handles[0] =
            is("twice") && which == SPECIAL % VECTORS ? again : vector_handles[which];
        task->handles[1] = vector_handles[(which + 1) % VECTORS];
        task->handles[2] = sum_handles[which];
    }
    must(starpu_task_submit(task));
}

static void begin(void)
{
    struct starpu_data_filter filter = {.filter_func = starpu_matrix_filter_block,
                                        .nchildren = PARTS};

    for (int i = 0; i < VECTORS; i++) {
        for (int k = 0; k < LENGTH; k++)
            vectors[i][k] = mix((uint64_t)(i * LENGTH + k));
        starpu_vector_data_register(&vector_handles[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i],
                                    LENGTH, sizeof(uint64_t));
        starpu_variable_data_register(&sum_handles[i], STARPU_MAIN_RAM, (uintptr_t)&sums[i],
                                      sizeof(uint64_t));
        starpu_variable_data_register(&count_handles[i], STARPU_MAIN_RAM, (uintptr_t)&counts[i],
                                      sizeof(uint64_t));
    }
    if (is("twice"))
        starpu_vector_data_register(&again, STARPU_MAIN_RAM, (uintptr_t)vectors[SPECIAL % VECTORS],
                                    LENGTH, sizeof(uint64_t));
    starpu_void_data_register(&order);
    starpu_matrix_data_register(&matrix_handle, STARPU_MAIN_RAM, (uintptr_t)matrix, ROWS, ROWS,
                                COLUMNS, sizeof(uint64_t));
    starpu_data_partition(matrix_handle, &filter);
}

static void end(void)
{
    uint64_t hash = 0;

    starpu_task_wait_for_all();
    starpu_data_unpartition(matrix_handle, STARPU_MAIN_RAM);
    starpu_data_unregister(matrix_handle);
    starpu_data_unregister(order);
    if (is("twice"))
        starpu_data_unregister(again);
    for (int i = 0; i < VECTORS; i++) {
        starpu_data_unregister(vector_handles[i]);
        starpu_data_unregister(sum_handles[i]);
        starpu_data_unregister(count_handles[i]);
    }
    for (int i = 0; i < VECTORS; i++)
        for (int k = 0; k < LENGTH; k++)
            hash = mix(hash + vectors[i][k]) + sums[i] + counts[i] * 3;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        hash = mix(hash + matrix[i]);
    printf("%016" PRIx64 "\n", hash);
}

int main(int argc, char **argv)
{
    const int tasks = argc > 2 ? atoi(argv[2]) : 300;
    const char *declare = getenv("F_DECLARE"), *microseconds = getenv("F_LONG");

    mode = argc > 1 ? argv[1] : "plain";
    busy = microseconds ? atol(microseconds) : 0;
    if (!declare || declare[0] != '0') {
        must(starpu_tic_codelet_can_fail(&step_codelet));
        must(starpu_tic_codelet_can_fail(&part_codelet));
    }
    if (starpu_init(NULL) != 0)
        return 77;
    if (starpu_tic_task_failed() != -EPERM || starpu_tic_codelet_can_fail(NULL) != -EINVAL)
        abort();
    begin();
    for (int number = 0; number < tasks; number++)
        submit(number);
    end();
    starpu_shutdown();
    return 0;
}
