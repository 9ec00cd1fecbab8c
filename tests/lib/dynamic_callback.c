/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/dynamic.c in which callbacks submit tasks: callback (chains: the callback of a
 * task submits the next one), callback-race (a wavefront: the callback that brings a cell's counter
 * to 0 submits the cell). */
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
