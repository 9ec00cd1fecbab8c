/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: kernels write registered memory that they do not declare, or declare
 * otherwise. Waits, or declared data that the tasks share, order them. */
#include "lib/unseen.h"

enum { TILES = 8 };

static struct tiles hidden; /* what kernels reach by a global pointer */

/* ---- kernelwrite-arg, kernelwrite-global: a second output, by pointer ------------------------ */

static void write_both(uint64_t *to, uint64_t *also, size_t n, unsigned number)
{
    work(to, also, n, number);
    for (size_t i = 0; i < n; i++)
        also[i] = mix(also[i], to[i]);
}

static void write_by_arg(void *buffers[], void *arg)
{
    uint64_t *also;
    unsigned number;

    starpu_codelet_unpack_args(arg, &also, &number);
    write_both(elements(buffers[0]), also, STARPU_VECTOR_GET_NX(buffers[0]), number);
}

static void write_by_global(void *buffers[], void *arg)
{
    unsigned which, number;

    starpu_codelet_unpack_args(arg, &which, &number);
    write_both(elements(buffers[0]), tile(&hidden, which), STARPU_VECTOR_GET_NX(buffers[0]),
               number);
}

static struct starpu_codelet by_arg_codelet = {
    .cpu_funcs = {write_by_arg}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "write_by_arg"};
static struct starpu_codelet by_global_codelet = {
    .cpu_funcs = {write_by_global}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "write_by_global"};

static void submit_by_arg(const struct tiles *x, unsigned which, unsigned number)
{
    uint64_t *also = tile(&hidden, which);
    must(starpu_task_insert(&by_arg_codelet, STARPU_RW, x->handles[which], STARPU_VALUE, &also,
                            sizeof(also), STARPU_VALUE, &number, sizeof(number), 0));
}

static void submit_by_global(const struct tiles *x, unsigned which, unsigned number)
{
    must(starpu_task_insert(&by_global_codelet, STARPU_RW, x->handles[which], STARPU_VALUE, &which,
                            sizeof(which), STARPU_VALUE, &number, sizeof(number), 0));
}

/* A phase writes the hidden tiles, the next one declares that it reads them. */
static void write_in_phases(void (*submit)(const struct tiles *, unsigned, unsigned))
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 20);
    tiles_make(&hidden, TILES, LENGTH, 21);
    for (unsigned phase = 0; phase < phases(30); phase++) {
        for (unsigned i = 0; i < TILES; i++)
            submit(&x, i, phase);
        starpu_task_wait_for_all();
        for (unsigned i = 0; i < TILES; i++)
            submit_combine(x.handles[i], hidden.handles[(i + 1) % TILES], phase);
        starpu_task_wait_for_all();
    }
    tiles_drop(&hidden);
    tiles_drop(&x);
}

void run_kernelwrite_arg(void)
{
    write_in_phases(submit_by_arg);
}

void run_kernelwrite_global(void)
{
    write_in_phases(submit_by_global);
}

/* ---- kernelwrite-never: no task declares the data, main() acquires it at the end ------------- */

void run_kernelwrite_never(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 22);
    tiles_make(&hidden, TILES, LENGTH, 23);
    for (unsigned turn = 0; turn < phases(50); turn++)
        for (unsigned i = 0; i < TILES; i++)
            submit_by_global(&x, i, turn);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < TILES; i++) {
        must(starpu_data_acquire(hidden.handles[i], STARPU_R));
        note(digest(tile(&hidden, i), LENGTH));
        starpu_data_release(hidden.handles[i]);
    }
    tiles_drop(&hidden);
    tiles_drop(&x);
}

/* ---- kernelwrite-leaves: no task declares the data, main() unregisters and changes it ---------
 */

void run_kernelwrite_leaves(void)
{
    struct tiles x;

    tiles_make(&x, TILES, 2 * LENGTH, 28); /* too large to be logged when main() has waited */
    tiles_allocate(&hidden, TILES, 2 * LENGTH, 29);
    for (unsigned phase = 0; phase < phases(30); phase++) {
        tiles_register(&hidden);
        for (unsigned i = 0; i < TILES; i++)
            submit_by_global(&x, i, phase);
        starpu_task_wait_for_all();
        tiles_unregister(&hidden);
        note(tiles_digest(&hidden));
        tiles_rescale(&hidden, phase);
    }
    free(hidden.at);
    tiles_drop(&x);
}

/* ---- read-kept: structures that stay, whose kernels read what other tasks have written --------
 */

static void read_by_global(void *buffers[], void *arg)
{
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    uint64_t seen = digest(tile(&hidden, (number + 1) % TILES), LENGTH);
    work(elements(buffers[0]), elements(buffers[0]), LENGTH, number + (unsigned)seen);
}

static struct starpu_codelet reader_codelet = {
    .cpu_funcs = {read_by_global}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "read_by_global"};

static struct starpu_task *build_reader(starpu_data_handle_t to, unsigned number)
{
    struct starpu_task *task =
        starpu_task_build(&reader_codelet, STARPU_RW, to, STARPU_VALUE, &number, sizeof(number), 0);
    must(task ? 0 : -1);
    task->destroy = 0;
    task->detach = 0;
    return task;
}

void run_read_kept(void)
{
    struct starpu_task *readers[TILES];
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 30);
    tiles_make(&hidden, TILES, 2 * LENGTH, 31); /* too large to be logged when main() has waited */
    for (unsigned i = 0; i < TILES; i++)
        readers[i] = build_reader(x.handles[i], i);
    for (unsigned phase = 0; phase < phases(40); phase++) {
        submit_updates(&hidden, phase);
        starpu_task_wait_for_all();
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_submit(readers[i]));
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_wait(readers[i]));
    }
    for (unsigned i = 0; i < TILES; i++)
        starpu_task_destroy(readers[i]);
    tiles_drop(&hidden);
    tiles_drop(&x);
}

/* ---- kernelwrite-token: a small variable orders the tasks, what they write is not declared --- */

static void write_after_token(void *buffers[], void *arg)
{
    uint64_t *token = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    work(tile(&hidden, number % TILES), tile(&hidden, (number + 1) % TILES), LENGTH, number);
    *token = mix(*token, number);
}

static struct starpu_codelet token_codelet = {.cpu_funcs = {write_after_token},
                                              .nbuffers = 1,
                                              .modes = {STARPU_RW},
                                              .name = "write_after_token"};

void run_kernelwrite_token(void)
{
    uint64_t token = 0;
    starpu_data_handle_t handle;

    tiles_make(&hidden, TILES, LENGTH, 24);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&token, sizeof(token));
    for (unsigned i = 0; i < phases(300); i++)
        must(starpu_task_insert(&token_codelet, STARPU_RW, handle, STARPU_VALUE, &i, sizeof(i), 0));
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    note(token);
    tiles_drop(&hidden);
}

/* ---- declared-read: a kernel scales in place what it declares as read ------------------------ */

static void scale_in_place(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]), *from = elements(buffers[1]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    for (size_t i = 0; i < n; i++)
        from[i] = from[i] / 3 + number;
    work(to, from, n, number);
}

static struct starpu_codelet scale_codelet = {.cpu_funcs = {scale_in_place},
                                              .nbuffers = 2,
                                              .modes = {STARPU_RW, STARPU_R},
                                              .name = "scale_in_place"};

void run_declared_read(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 25);
    tiles_make(&hidden, TILES, LENGTH, 26);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&scale_codelet, STARPU_RW, x.handles[i], STARPU_R,
                                    hidden.handles[(i + phase) % TILES], STARPU_VALUE, &phase,
                                    sizeof(phase), 0));
        starpu_task_wait_for_all();
    }
    tiles_drop(&hidden);
    tiles_drop(&x);
}

/* ---- padding: what a kernel needs the next time lies between the columns of a matrix --------- */

enum { WIDTH = 60, STRIDE = 64, HEIGHT = 32 };

static void use_padding(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t stride = STARPU_MATRIX_GET_LD(buffers[0]), width = STARPU_MATRIX_GET_NX(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    uint64_t busy = churn(at[width]);
    for (size_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++) {
        uint64_t *line = at + y * stride;
        for (size_t x = 0; x < width; x++)
            line[x] = mix(line[x] ^ busy, line[width + x % (stride - width)]);
        line[width + number % (stride - width)] += digest(line, width);
    }
}

static struct starpu_codelet padding_codelet = {
    .cpu_funcs = {use_padding}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "use_padding"};

void run_padding(void)
{
    struct tiles x; /* its memory, registered as matrices that leave a part out */

    tiles_allocate(&x, TILES, STRIDE * HEIGHT, 27);
    for (unsigned i = 0; i < TILES; i++)
        starpu_matrix_data_register(&x.handles[i], STARPU_MAIN_RAM, (uintptr_t)tile(&x, i), STRIDE,
                                    WIDTH, HEIGHT, sizeof(uint64_t));
    for (unsigned turn = 0; turn < phases(50); turn++)
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&padding_codelet, STARPU_RW, x.handles[i], STARPU_VALUE, &turn,
                                    sizeof(turn), 0));
    starpu_task_wait_for_all();
    tiles_drop(&x);
}
