/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/steps.h"

uint64_t values[STEPS_VALUES];
starpu_data_handle_t handles[STEPS_VALUES];
uint64_t counter;

void must(int status)
{
    if (status != 0)
        abort();
}

uint64_t *variable(void *buffer)
{
    return (uint64_t *)STARPU_VARIABLE_GET_PTR(buffer);
}

void count(uint64_t by)
{
    __atomic_add_fetch(&counter, by, __ATOMIC_RELAXED);
}

static void step(void *buffers[], void *arg)
{
    int number;
    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) = *variable(buffers[0]) * 31 + (uint64_t)number;
}

struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

void submit_step(int which, int number)
{
    must(starpu_task_insert(&step_codelet, STARPU_RW, handles[which], STARPU_VALUE, &number,
                            sizeof(number), 0));
}

void submit_steps(int first)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++)
            submit_step(first + chain, number);
}

void steps_open(void)
{
    if (starpu_init(NULL) != 0)
        exit(77);
    for (int i = 0; i < STEPS_VALUES; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
                                      sizeof(values[i]));
}

void steps_close(void)
{
    starpu_task_wait_for_all();
    for (int i = 0; i < STEPS_VALUES; i++)
        starpu_data_unregister(handles[i]);
    starpu_shutdown();
}

int steps_main(int argc, char **argv, const struct mode *modes)
{
    uint64_t hash = 0;

    while (modes->name && (argc < 2 || strcmp(modes->name, argv[1]) != 0))
        modes++;
    if (!modes->name)
        return 2;
    for (int i = 0; i < STEPS_VALUES; i++)
        values[i] = (uint64_t)i + 1;
    steps_open();
    modes->run();
    steps_close();
    for (int i = 0; i < STEPS_VALUES; i++)
        hash = hash * 31 + values[i];
    printf("%" PRIu64 " %" PRIu64 "\n", hash, counter);
    return 0;
}
