/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program that shuts StarPU down while data without a home node is still about to leave
 * (starpu_data_unregister_submit), as tasks use it. Prints a sum that the last task has made. */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1000, TASKS = 400 };

static uint32_t sum; /* of the last task; a restart executes that again */

static void step(void *buffers[], void *arg)
{
    uint32_t *values = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned round = 0; round < 20; round++)
        for (uint32_t i = 0; i < LENGTH; i++)
            values[i] = values[i] * 31 + i;
}

static void begin(void *buffers[], void *arg)
{
    uint32_t *values = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    for (unsigned i = 0; i < LENGTH; i++)
        values[i] = i;
    step(buffers, arg);
}

static void add_up(void *buffers[], void *arg)
{
    const uint32_t *values = (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < LENGTH; i++)
        sum = sum * 7 + values[i];
}

static struct starpu_codelet beginner = {
    .cpu_funcs = {begin}, .nbuffers = 1, .modes = {STARPU_W}, .name = "begin"};
static struct starpu_codelet stepper = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
static struct starpu_codelet adder = {
    .cpu_funcs = {add_up}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_up"};

int main(void)
{
    starpu_data_handle_t data;
    int status = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_vector_data_register(&data, -1, 0, LENGTH, sizeof(uint32_t));
    status |= starpu_task_insert(&beginner, STARPU_W, data, 0);
    for (unsigned i = 0; i < TASKS; i++)
        status |= starpu_task_insert(&stepper, STARPU_RW, data, 0);
    status |= starpu_task_insert(&adder, STARPU_R, data, 0);
    starpu_data_unregister_submit(data);
    starpu_shutdown();
    printf("%u\n", sum);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
