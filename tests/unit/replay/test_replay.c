/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that small programs come to the right result whatever the order of events, wherever the
 * recovery line is cut, wherever they are killed, and in whatever order they are restarted. */
#include "lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "fake.h"

/* ---- programs -------------------------------------------------------------------------------- */

static void add_one(void *buffers[], void *arg)
{
    uint64_t *value = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    (void)arg;
    *value = *value * 3 + 1;
}

static struct starpu_codelet adder = {
    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t data)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->handles[0] = data;
    assert_int_equal(starpu_task_submit(task), 0);
}

static void chain(uint64_t *result)
{
    static uint64_t value;
    starpu_data_handle_t data;

    value = 5;
    tic_program_start(1);
    starpu_variable_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    submit(&adder, data);
    submit(&adder, data);
    starpu_task_wait_for_all();
    starpu_data_unregister(data);
    result[0] = value;
    tic_program_stop();
}

static const struct tic_program programs[] = {
    {.name = "chain", .run = chain, .record_preemptions = 3, .restart_preemptions = 3},
};

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_program(void **state)
{
    const struct tic_program *program = *state;
    struct tic_explored explored;

    assert_true(tic_explore(program, &explored));
    printf("# %s: %lu recorded runs, %lu stores, %lu restarts, %lu tasks skipped\n", program->name,
           explored.runs, explored.stores, explored.restarts, explored.skipped);
    assert_true(explored.skipped > 0);
}

static int repeat_one(const char *schedule)
{
    for (size_t i = 0; i < TIC_COUNT(programs); i++) {
        size_t length = strlen(programs[i].name);
        if (strncmp(schedule, programs[i].name, length) == 0 && schedule[length] == '/')
            return tic_explore_one(&programs[i], schedule + length + 1) ? 0 : 1;
    }
    printf("# no such program: %s\n", schedule);
    return 1;
}

int main(void)
{
    struct CMUnitTest tests[TIC_COUNT(programs)];

    if (getenv("TIC_REPLAY"))
        return repeat_one(getenv("TIC_REPLAY"));
    for (size_t i = 0; i < TIC_COUNT(programs); i++)
        tests[i] =
            (struct CMUnitTest){programs[i].name, test_program, NULL, NULL, (void *)&programs[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
