/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks of the scenarios of tests/lib/orders.c. */
#include <unistd.h>

#include "lib/orders.h"

enum { ROW = 5, CONTRIBUTIONS = 6 };

uint64_t shared = 1;

static void assign(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) = (uint64_t)number;
}

static void add_number(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) += (uint64_t)number;
}

static void look(void *buffers[], void *arg)
{
    (void)arg;
    count(*variable(buffers[0]));
}

void join(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[0]) * 31 + *variable(buffers[1]);
}

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = 0;
}

void add_other(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += *variable(buffers[1]);
}

static void step_late(void *buffers[], void *arg)
{
    usleep(20000);
    step_codelet.cpu_funcs[0](buffers, arg);
}

struct starpu_codelet step_late_codelet = {
    .cpu_funcs = {step_late}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_late"};
struct starpu_codelet assign_codelet = {
    .cpu_funcs = {assign}, .nbuffers = 1, .modes = {STARPU_W}, .name = "assign"};
struct starpu_codelet commute_codelet = {.cpu_funcs = {add_number},
                                         .nbuffers = 1,
                                         .modes = {STARPU_RW | STARPU_COMMUTE},
                                         .name = "commute"};
struct starpu_codelet reduce_codelet = {
    .cpu_funcs = {add_number}, .nbuffers = 1, .modes = {STARPU_REDUX}, .name = "reduce"};
struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
struct starpu_codelet join_codelet = {
    .cpu_funcs = {join}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "join"};
static struct starpu_codelet clear_codelet = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
struct starpu_codelet fold_codelet = {
    .cpu_funcs = {add_other}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};

struct starpu_task *build(struct starpu_codelet *codelet, starpu_data_handle_t handle, int number)
{
    struct starpu_task *task = starpu_task_build(codelet, codelet->modes[0], handle, STARPU_VALUE,
                                                 &number, sizeof(number), 0);
    must(task ? 0 : -1);
    return task;
}

struct starpu_task *build_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                               starpu_data_handle_t from)
{
    struct starpu_task *task =
        starpu_task_build(codelet, codelet->modes[0], to, codelet->modes[1], from, 0);
    must(task ? 0 : -1);
    return task;
}

void submit_and_wait(struct starpu_task *task)
{
    task->detach = 0;
    must(starpu_task_submit(task));
    must(starpu_task_wait(task));
}

void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, int number)
{
    must(starpu_task_submit(build(codelet, handle, number)));
}

void submit_pair(struct starpu_codelet *codelet, starpu_data_handle_t to, starpu_data_handle_t from)
{
    must(starpu_task_submit(build_pair(codelet, to, from)));
}

void submit_row(starpu_data_handle_t handle, int first)
{
    for (int number = first; number < first + ROW; number++)
        submit(&step_codelet, handle, number);
}

void submit_called(starpu_data_handle_t handle, void (*callback)(void *), void *arg)
{
    struct starpu_task *task = build(&step_codelet, handle, 1);

    task->callback_func = callback;
    task->callback_arg = arg;
    must(starpu_task_submit(task));
}

void submit_contributions(starpu_data_handle_t handle)
{
    for (int number = 1; number <= CONTRIBUTIONS; number++)
        submit(&reduce_codelet, handle, number);
}

starpu_data_handle_t make_reducible(starpu_data_handle_t handle)
{
    starpu_data_set_reduction_methods(handle, &fold_codelet, &clear_codelet);
    return handle;
}

starpu_data_handle_t register_homeless(void)
{
    starpu_data_handle_t handle;

    starpu_variable_data_register(&handle, -1, 0, sizeof(uint64_t));
    return handle;
}

starpu_data_handle_t register_shared(void)
{
    starpu_data_handle_t handle;

    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&shared, sizeof(shared));
    return handle;
}

uint64_t read_value(starpu_data_handle_t handle)
{
    must(starpu_data_acquire(handle, STARPU_R));
    uint64_t value = *(uint64_t *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    return value;
}

void note(uint64_t value)
{
    static uint64_t notes; /* of main() only */
    count(value * (2 * notes++ + 3));
}
