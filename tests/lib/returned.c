/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of tasks hold the address of a variable of a function that has returned, at some places
 * below main()'s own variables; no kernel follows it. */
#include <alloca.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 200, PLACES = 24, STEP = 16 };

struct text {
    char *at;
    char buffer[24];
};

static void add(void *buffers[], void *arg)
{
    const double end = starpu_timing_now() + 1000;

    while (starpu_timing_now() < end)
        ;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += ((struct text *)arg)->buffer[0];
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static __attribute__((noinline)) struct text *make(void)
{
    struct text text = {.buffer = "a"}, *copy = malloc(sizeof(text));

    text.at = text.buffer;
    if (copy)
        memcpy(copy, &text, sizeof(text));
    return copy;
}

static __attribute__((noinline)) struct text *make_below(unsigned bytes)
{
    volatile char *pad = alloca(bytes);
    struct text *text = make();

    pad[0] = 1;
    return text;
}

static int submit(starpu_data_handle_t data, unsigned below)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &add_codelet;
    task->handles[0] = data;
    task->cl_arg = make_below(below);
    task->cl_arg_size = sizeof(struct text);
    task->cl_arg_free = 1;
    return starpu_task_submit(task);
}

int main(void)
{
    int value = 0;
    starpu_data_handle_t data;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_variable_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    for (unsigned i = 1; i <= TASKS; i++) {
        if (submit(data, (i % PLACES + 1) * STEP) != 0 || starpu_data_acquire(data, STARPU_R) != 0)
            return 1;
        starpu_data_release(data);
    }
    starpu_data_unregister(data);
    printf("%d\n", value);
    starpu_shutdown();
    return 0;
}
