/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks read data between tasks that write it: looking access | nowhere | prologue | homeless,
 * by accesses with a callback, by prologues of tasks without a kernel, or of the tasks that write;
 * the last of data without a home node. Other tasks add to a sum in any order, so that the event
 * log extends lines. Prints a hash of what the callbacks saw. */
#include <starpu.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100 };

static uint64_t sum, value = 1, seen;
static starpu_data_handle_t sum_data, data;

static void must(int status)
{
    if (status != 0)
        abort();
}

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static void step(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    (void)arg;
    *at = *at * 31 + 7;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "add"};
static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
static struct starpu_codelet nowhere_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_R}, .name = "nowhere"};

static void look(void *arg)
{
    (void)arg;
    seen = seen * 31 + *(uint64_t *)starpu_variable_get_local_ptr(data);
}

static void look_and_release(void *arg)
{
    look(arg);
    starpu_data_release(data);
}

static void register_data(bool homeless)
{
    starpu_variable_data_register(&sum_data, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
    starpu_variable_data_register(&data, homeless ? -1 : STARPU_MAIN_RAM,
                                  homeless ? 0 : (uintptr_t)&value, sizeof(value));
    if (!homeless)
        return;
    must(starpu_data_acquire(data, STARPU_W));
    *(uint64_t *)starpu_variable_get_local_ptr(data) = value;
    starpu_data_release(data);
}

int main(int argc, char **argv)
{
    if (argc != 2 || starpu_init(NULL) != 0)
        return 77;
    bool homeless = strcmp(argv[1], "homeless") == 0;
    register_data(homeless);
    for (int i = 0; i < ROUNDS; i++) {
        must(starpu_task_insert(&add_codelet, STARPU_RW | STARPU_COMMUTE, sum_data, 0));
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_PROLOGUE_CALLBACK_POP,
                                homeless || strcmp(argv[1], "prologue") == 0 ? look : NULL, 0));
        if (strcmp(argv[1], "access") == 0)
            must(starpu_data_acquire_cb(data, STARPU_R, look_and_release, NULL));
        if (strcmp(argv[1], "nowhere") == 0)
            must(starpu_task_insert(&nowhere_codelet, STARPU_R, data, STARPU_PROLOGUE_CALLBACK_POP,
                                    look, 0));
    }
    starpu_task_wait_for_all();
    starpu_data_unregister(sum_data);
    starpu_data_unregister(data);
    starpu_shutdown();
    printf("%016" PRIx64 " %" PRIu64 "\n", seen, sum);
    return 0;
}
