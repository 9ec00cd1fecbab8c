/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/dynamic.c in which callbacks submit tasks: callback (chains: the callback of a
 * task submits the next one), callback-race (a wavefront: the callback that brings a cell's counter
 * to 0 submits the cell), callback-late (a callback submits a task on data that main() submits
 * tasks on: with D_LATE=1 after all of them, else after half of them; the result is the same). */
#include <semaphore.h>

#include "lib/dynamic.h"

/* ---- callback: of each chain one task exists at a time -------------------------------------- */

struct link {
    int chain, number;
};

static void submit_link(struct link link);

static void link_done(void *arg)
{
    struct link link = *(struct link *)arg; /* StarPU frees it */

    count(1);
    link.number++;
    if (link.number < LENGTH)
        submit_link(link);
}

static void submit_link(struct link link)
{
    struct link *kept = malloc(sizeof(*kept));

    must(kept ? 0 : -1);
    *kept = link;
    must(starpu_task_insert(&step_codelet, STARPU_RW, handles[link.chain], STARPU_VALUE,
                            &link.number, sizeof(link.number), STARPU_CALLBACK_WITH_ARG, link_done,
                            kept, 0));
}

void run_callback(void)
{
    for (int chain = 0; chain < CHAINS; chain++)
        submit_link((struct link){chain, 0});
}

/* ---- callback-race: the cells of row 0 and column 0 are given ------------------------------- */

enum { SIDE = 12, WIDTH = SIDE + 1 };

static int missing[WIDTH * WIDTH]; /* atomic: which neighbour comes last is a race */

static void flow(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[1]) * 31 + *variable(buffers[2]) * 7 + 1;
}

static struct starpu_codelet flow_codelet = {
    .cpu_funcs = {flow}, .nbuffers = 3, .modes = {STARPU_RW, STARPU_R, STARPU_R}, .name = "flow"};

static void cell_done(void *arg);

static void submit_cell(int cell)
{
    must(starpu_task_insert(&flow_codelet, STARPU_RW, handles[cell], STARPU_R,
                            handles[cell - WIDTH], STARPU_R, handles[cell - 1],
                            STARPU_CALLBACK_WITH_ARG_NFREE, cell_done, (void *)(intptr_t)cell, 0));
}

static void neighbour_done(int cell)
{
    if (__atomic_sub_fetch(&missing[cell], 1, __ATOMIC_ACQ_REL) == 0)
        submit_cell(cell);
}

static void cell_done(void *arg)
{
    int cell = (int)(intptr_t)arg;

    count(1);
    if (cell % WIDTH < SIDE)
        neighbour_done(cell + 1);
    if (cell / WIDTH < SIDE)
        neighbour_done(cell + WIDTH);
}

void run_callback_race(void)
{
    _Static_assert(WIDTH * WIDTH <= STEPS_VALUES, "a value per cell");
    for (int cell = 0; cell < WIDTH * WIDTH; cell++)
        missing[cell] = (cell / WIDTH > 1) + (cell % WIDTH > 1);
    submit_cell(WIDTH + 1);
}

/* ---- callback-late -------------------------------------------------------------------------- */

enum { ADDITIONS = 20, MUCH = 1000000 };

static sem_t all_added, submitted;

static void add(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) += (uint64_t)number;
    if (number == ADDITIONS)
        must(sem_post(&all_added));
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void submit_addition(int number)
{
    must(starpu_task_insert(&add_codelet, STARPU_VALUE, &number, sizeof(number), STARPU_RW,
                            handles[0], 0));
}

static void submit_late(void *arg)
{
    (void)arg;
    if (getenv("D_LATE"))
        must(sem_wait(&all_added));
    submit_addition(MUCH);
    must(sem_post(&submitted));
}

void run_callback_late(void)
{
    const int zero = 0;

    must(sem_init(&all_added, 0, 0));
    must(sem_init(&submitted, 0, 0));
    for (int number = 1; number <= ADDITIONS / 2; number++)
        submit_addition(number);
    must(starpu_task_insert(&add_codelet, STARPU_VALUE, &zero, sizeof(zero), STARPU_RW, handles[1],
                            STARPU_CALLBACK, submit_late, 0));
    if (!getenv("D_LATE"))
        must(sem_wait(&submitted));
    for (int number = ADDITIONS / 2 + 1; number <= ADDITIONS; number++)
        submit_addition(number);
}
