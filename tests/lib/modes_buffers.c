/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/modes.c about buffers of tasks: many-buffers (20, of mixed modes), scratch
 * (tasks compute in buffers whose content nobody needs), kept-reader (a structure that main()
 * submits again and again reads, and has its effect elsewhere). */
#include "lib/modes.h"

/* ---- many-buffers --------------------------------------------------------------------------- */

enum { BUFFERS = 20, SPREAD = 31 };

static enum starpu_data_access_mode mode_of(int i)
{
    static const enum starpu_data_access_mode modes[] = {STARPU_R, STARPU_RW, STARPU_W,
                                                         STARPU_RW | STARPU_COMMUTE};
    return modes[i % 4];
}

static void mix(void *buffers[], void *arg)
{
    uint64_t sum = 0;

    (void)arg;
    for (int i = 0; i < BUFFERS; i++)
        sum = i % 4 < 2 ? sum * 7 + *variable(buffers[i]) : sum;
    for (int i = 0; i < BUFFERS; i++)
        if (mode_of(i) != STARPU_R) /* what commutes must be a sum */
            *variable(buffers[i]) = sum + (mode_of(i) == STARPU_W ? 0 : *variable(buffers[i]));
}

static struct starpu_codelet mix_codelet = {
    .cpu_funcs = {mix}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "mix"};

void run_many_buffers(void)
{
    for (int number = 0; number < LENGTH; number++) {
        struct starpu_task *task = starpu_task_create();

        task->cl = &mix_codelet;
        task->nbuffers = BUFFERS;
        task->dyn_handles = malloc(BUFFERS * sizeof(*task->dyn_handles));
        task->dyn_modes = malloc(BUFFERS * sizeof(*task->dyn_modes));
        must(task->dyn_handles && task->dyn_modes ? 0 : -1);
        for (int i = 0; i < BUFFERS; i++) {
            task->dyn_handles[i] = handles[(number * 11 + i) % SPREAD];
            task->dyn_modes[i] = mode_of(i);
        }
        must(starpu_task_submit(task));
    }
}

/* ---- scratch -------------------------------------------------------------------------------- */

enum { SCRATCH = 64 };

static void fill_and_sum(void *buffers[], void *arg)
{
    uint64_t *scratch = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    uint64_t *value = variable(buffers[0]), sum = 0;

    (void)arg;
    for (uint64_t i = 0; i < SCRATCH; i++)
        scratch[i] = *value * i + i;
    for (int i = 0; i < SCRATCH; i++)
        sum = sum * 31 + scratch[i];
    *value = sum;
}

static struct starpu_codelet scratch_codelet = {.cpu_funcs = {fill_and_sum},
                                                .nbuffers = 2,
                                                .modes = {STARPU_RW, STARPU_SCRATCH},
                                                .name = "scratch"};

void run_scratch(void)
{
    starpu_data_handle_t scratch;

    starpu_vector_data_register(&scratch, -1, 0, SCRATCH, sizeof(uint64_t));
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_insert(&scratch_codelet, STARPU_RW, handles[chain], STARPU_SCRATCH,
                                    scratch, 0));
    starpu_data_unregister(scratch);
}

/* ---- kept-reader ----------------------------------------------------------------------------- */

static void look(void *buffers[], void *arg)
{
    (void)arg;
    count(*variable(buffers[0]) * 7 + *variable(buffers[1]));
}

static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 2, .modes = {STARPU_R, STARPU_R}, .name = "look"};

void run_kept_reader(void)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &look_codelet;
    task->destroy = 0;
    task->detach = 0;
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, number);
            starpu_task_wait_for_all(); /* StarPU takes no dependencies of a task that has run */
            task->handles[0] = handles[chain];
            task->handles[1] = handles[(chain * 3 + number) % (2 * CHAINS)];
            must(starpu_task_submit(task));
            must(starpu_task_wait(task));
        }
    starpu_task_destroy(task);
    submit_steps(CHAINS);
}
