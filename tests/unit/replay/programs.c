/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the small programs share. */
#include "programs.h"

#include <stdlib.h>
#include <unistd.h>

#undef starpu_task_submit /* a macro where StarPU traces with FxT */

uint64_t tic_values[TIC_VARIABLES];
starpu_data_handle_t tic_data[TIC_VARIABLES];
uint64_t tic_seen;

static unsigned opened;

enum { EXIT_REFUSED = 93 };

static void must(int status)
{
    if (status != 0)
        _exit(EXIT_REFUSED);
}

void tic_open(unsigned workers, unsigned variables)
{
    opened = variables;
    tic_seen = 0;
    tic_program_start(workers);
    for (unsigned i = 0; i < variables; i++) {
        tic_values[i] = i + 1;
        starpu_variable_data_register(&tic_data[i], STARPU_MAIN_RAM, (uintptr_t)&tic_values[i],
                                      sizeof(tic_values[i]));
    }
}

void tic_close(uint64_t *result)
{
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < opened; i++) {
        starpu_data_unregister(tic_data[i]);
        result[i] = tic_values[i];
    }
    result[TIC_VARIABLES] = tic_seen;
    tic_program_stop();
}

starpu_data_handle_t tic_register_homeless(void)
{
    starpu_data_handle_t data;

    starpu_variable_data_register(&data, -1, 0, sizeof(uint64_t));
    return data;
}

/* ---- codelets -------------------------------------------------------------------------------- */

static uint64_t *value_of(void *buffer)
{
    return (uint64_t *)STARPU_VARIABLE_GET_PTR(buffer);
}

static void step(void *buffers[], void *arg)
{
    *value_of(buffers[0]) = *value_of(buffers[0]) * 31 + *(uint64_t *)arg;
}

static void assign(void *buffers[], void *arg)
{
    *value_of(buffers[0]) = *(uint64_t *)arg;
}

static void join(void *buffers[], void *arg)
{
    (void)arg;
    *value_of(buffers[0]) = *value_of(buffers[0]) * 31 + *value_of(buffers[1]);
}

static void see(void *buffers[], void *arg)
{
    (void)arg;
    tic_seen = tic_seen * 31 + *value_of(buffers[0]);
}

struct starpu_codelet tic_step = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
struct starpu_codelet tic_assign = {
    .cpu_funcs = {assign}, .nbuffers = 1, .modes = {STARPU_W}, .name = "assign"};
struct starpu_codelet tic_join = {
    .cpu_funcs = {join}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "join"};
struct starpu_codelet tic_see = {
    .cpu_funcs = {see}, .nbuffers = 1, .modes = {STARPU_R}, .name = "see"};

/* ---- tasks ----------------------------------------------------------------------------------- */

struct starpu_task *tic_build(struct starpu_codelet *codelet, starpu_data_handle_t data,
                              uint64_t number)
{
    struct starpu_task *task = starpu_task_create();
    uint64_t *copy = malloc(sizeof(*copy));

    must(copy ? 0 : -1);
    *copy = number;
    task->cl = codelet;
    task->handles[0] = data;
    task->cl_arg = copy;
    task->cl_arg_size = sizeof(*copy);
    task->cl_arg_free = 1;
    return task;
}

struct starpu_task *tic_build_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                                   starpu_data_handle_t from)
{
    struct starpu_task *task = tic_build(codelet, to, 0);

    task->handles[1] = from;
    return task;
}

void tic_submit_built(struct starpu_task *task)
{
    must(starpu_task_submit(task));
}

void tic_submit(struct starpu_codelet *codelet, starpu_data_handle_t data, uint64_t number)
{
    tic_submit_built(tic_build(codelet, data, number));
}

void tic_submit_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                     starpu_data_handle_t from)
{
    tic_submit_built(tic_build_pair(codelet, to, from));
}

void tic_acquire(starpu_data_handle_t data, enum starpu_data_access_mode mode)
{
    must(starpu_data_acquire(data, mode));
}
