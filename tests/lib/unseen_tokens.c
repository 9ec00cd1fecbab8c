/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: tasks and main() declare tokens, void data or a flag, that stand for
 * the memory that they read and write. */
#include "lib/unseen.h"

enum { TILES = 8 };

static struct tiles memory;

/* ---- void-*: the token of a tile is written, that of the next one read ----------------------- */

static void work_on_args(void *buffers[], void *arg)
{
    uint64_t *to;
    const uint64_t *from;
    unsigned number;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &to, &from, &number);
    work(to, from, LENGTH, number);
}

static void work_on_globals(void *buffers[], void *arg)
{
    unsigned which, number;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &which, &number);
    work(tile(&memory, which), tile(&memory, (which + 1) % TILES), LENGTH, number);
}

static struct starpu_codelet args_codelet = {.cpu_funcs = {work_on_args},
                                             .nbuffers = 2,
                                             .modes = {STARPU_RW, STARPU_R},
                                             .name = "work_on_args"};
static struct starpu_codelet globals_codelet = {.cpu_funcs = {work_on_globals},
                                                .nbuffers = 2,
                                                .modes = {STARPU_RW, STARPU_R},
                                                .name = "work_on_globals"};

static void submit_args(const starpu_data_handle_t *tokens, unsigned which, unsigned number)
{
    unsigned next = (which + 1) % TILES;
    uint64_t *to = tile(&memory, which), *from = tile(&memory, next);

    must(starpu_task_insert(&args_codelet, STARPU_RW, tokens[which], STARPU_R, tokens[next],
                            STARPU_VALUE, &to, sizeof(to), STARPU_VALUE, &from, sizeof(from),
                            STARPU_VALUE, &number, sizeof(number), 0));
}

static void submit_globals(const starpu_data_handle_t *tokens, unsigned which, unsigned number)
{
    must(starpu_task_insert(&globals_codelet, STARPU_RW, tokens[which], STARPU_R,
                            tokens[(which + 1) % TILES], STARPU_VALUE, &which, sizeof(which),
                            STARPU_VALUE, &number, sizeof(number), 0));
}

static void submit_all(void (*submit)(const starpu_data_handle_t *, unsigned, unsigned))
{
    starpu_data_handle_t tokens[TILES];

    for (unsigned i = 0; i < TILES; i++)
        starpu_void_data_register(&tokens[i]);
    for (unsigned turn = 0; turn < phases(50); turn++)
        for (unsigned i = 0; i < TILES; i++)
            submit(tokens, i, turn);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < TILES; i++)
        starpu_data_unregister(tokens[i]);
}

void run_void_arg(void)
{
    tiles_make(&memory, TILES, LENGTH, 40);
    submit_all(submit_args);
    tiles_drop(&memory);
}

void run_void_global(void)
{
    tiles_make(&memory, TILES, LENGTH, 41);
    submit_all(submit_globals);
    tiles_drop(&memory);
}

void run_void_unregistered(void)
{
    tiles_allocate(&memory, TILES, LENGTH, 42);
    submit_all(submit_args);
    note(tiles_digest(&memory));
    free(memory.at);
}

/* ---- acquiretoken: main() acquires a flag that the last task of a phase writes --------------- */

static void raise_flag(void *buffers[], void *arg)
{
    uint64_t *flag = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    (void)arg;
    *flag += 1;
}

static struct starpu_codelet flag_codelet = {
    .cpu_funcs = {raise_flag}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "raise_flag"};

static void submit_flag(starpu_data_handle_t flag)
{
    struct starpu_data_descr all[TILES + 1] = {{flag, STARPU_RW}};

    for (unsigned i = 0; i < TILES; i++)
        all[i + 1] = (struct starpu_data_descr){memory.handles[i], STARPU_R};
    must(starpu_task_insert(&flag_codelet, STARPU_DATA_MODE_ARRAY, all, TILES + 1, 0));
}

void run_acquiretoken(void)
{
    uint64_t flag = 0;
    starpu_data_handle_t handle;

    tiles_make(&memory, TILES, LENGTH, 43);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&flag, sizeof(flag));
    for (unsigned phase = 0; phase < phases(50); phase++) {
        submit_updates(&memory, phase);
        submit_flag(handle);
        must(starpu_data_acquire(handle, STARPU_R));
        note(flag);
        note(tiles_digest(&memory));
        tiles_rescale(&memory, phase);
        starpu_data_release(handle);
    }
    starpu_data_unregister(handle);
    tiles_drop(&memory);
}
