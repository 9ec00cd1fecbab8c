/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: beside the data that they declare, kernels write memory that nobody
 * registered: a result by pointer, a global sum, a state from one task to the next. */
#include "lib/unseen.h"

enum { TILES = 8 };

/* ---- result-arg: every task returns a number by a pointer in its arguments ------------------- */

static void return_norm(void *buffers[], void *arg)
{
    uint64_t *norm;
    unsigned number;
    uint64_t *at = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);

    starpu_codelet_unpack_args(arg, &norm, &number);
    work(at, at, n, number);
    *norm = digest(at, n);
}

static struct starpu_codelet norm_codelet = {
    .cpu_funcs = {return_norm}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "return_norm"};

void run_result_arg(void)
{
    struct tiles x;
    uint64_t norms[TILES];

    tiles_make(&x, TILES, LENGTH, 30);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        for (unsigned i = 0; i < TILES; i++) {
            uint64_t *norm = &norms[i];
            must(starpu_task_insert(&norm_codelet, STARPU_RW, x.handles[i], STARPU_VALUE, &norm,
                                    sizeof(norm), STARPU_VALUE, &phase, sizeof(phase), 0));
        }
        starpu_task_wait_for_all();
        note(digest(norms, TILES));
    }
    tiles_drop(&x);
}

/* ---- result-global: tasks add to a sum that main() reads and clears -------------------------- */

static uint64_t sum; /* addition commutes */

static void add_norm(void *buffers[], void *arg)
{
    unsigned number;
    uint64_t *at = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);

    starpu_codelet_unpack_args(arg, &number);
    work(at, at, n, number);
    __atomic_add_fetch(&sum, digest(at, n), __ATOMIC_RELAXED);
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_norm}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_norm"};

static void add_in_turn(const struct tiles *x, unsigned phase)
{
    for (unsigned i = 0; i < x->count; i++)
        must(starpu_task_insert(&add_codelet, STARPU_RW, x->handles[i], STARPU_VALUE, &phase,
                                sizeof(phase), STARPU_TASK_SYNCHRONOUS, 1, 0));
}

/* main() waits within each submission. */
void run_result_synchronous(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 33);
    for (unsigned phase = 0; phase < phases(30); phase++) {
        sum = 0;
        add_in_turn(&x, phase);
        note(sum);
    }
    tiles_drop(&x);
}

void run_result_global(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 31);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        sum = 0;
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&add_codelet, STARPU_RW, x.handles[i], STARPU_VALUE, &phase,
                                    sizeof(phase), 0));
        starpu_task_wait_for_all();
        note(sum);
    }
    tiles_drop(&x);
}

/* ---- kernel-state: a random generator per tile, in memory that nobody registered ------------- */

static uint64_t *generators;

static void draw(void *buffers[], void *arg)
{
    unsigned which, number;
    uint64_t *at = elements(buffers[0]);

    starpu_codelet_unpack_args(arg, &which, &number);
    generators[which] = mix(generators[which], number);
    at[0] ^= generators[which];
    work(at, at, STARPU_VECTOR_GET_NX(buffers[0]), number);
}

static struct starpu_codelet draw_codelet = {
    .cpu_funcs = {draw}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "draw"};

void run_kernel_state(void)
{
    struct tiles x;

    generators = calloc(TILES, sizeof(*generators));
    tiles_make(&x, TILES, LENGTH, 32);
    for (unsigned turn = 0; turn < phases(50); turn++)
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&draw_codelet, STARPU_RW, x.handles[i], STARPU_VALUE, &i,
                                    sizeof(i), STARPU_VALUE, &turn, sizeof(turn), 0));
    starpu_task_wait_for_all();
    tiles_drop(&x);
    free(generators);
}
