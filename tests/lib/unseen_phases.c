/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: phases that end with a wait for all tasks; between them main()
 * writes registered memory by pointer, in them tasks read neighbours that they do not declare. */
#include <sys/mman.h>

#include "lib/unseen.h"

enum { TILES = 8 };

/* ---- rescale: main() changes X in place, tasks read a whole column, and declare one tile ----- */

enum { COLUMNS = 4, ROWS = 4 };

static void gather(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned row, number;

    starpu_codelet_unpack_args(arg, &row, &number);
    const uint64_t *column = elements(buffers[1]) - row * n;
    for (unsigned i = 0; i < ROWS; i++)
        to[i] += digest(column + i * n, n);
    work(to, column, n, number);
}

static struct starpu_codelet gather_codelet = {
    .cpu_funcs = {gather}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "gather"};

void run_rescale(void)
{
    struct tiles x, y;

    tiles_make(&x, COLUMNS * ROWS, LENGTH, 5);
    tiles_make(&y, COLUMNS * ROWS, LENGTH, 6);
    for (unsigned phase = 0; phase < phases(16); phase++) {
        submit_updates(&x, phase);
        starpu_task_wait_for_all();
        tiles_rescale(&x, phase);
        for (unsigned i = 0; i < COLUMNS * ROWS; i++) {
            unsigned row = i % ROWS;
            must(starpu_task_insert(&gather_codelet, STARPU_RW, y.handles[i], STARPU_R,
                                    x.handles[i], STARPU_VALUE, &row, sizeof(row), STARPU_VALUE,
                                    &phase, sizeof(phase), 0));
        }
        starpu_task_wait_for_all();
    }
    tiles_drop(&y);
    tiles_drop(&x);
}

/* ---- phases50: main() writes, in turn adding to what is there and replacing it --------------- */

void run_phases50(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 7);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        submit_updates(&x, phase);
        starpu_task_wait_for_all();
        for (unsigned i = 0; i < x.length; i++) {
            tile(&x, phase % TILES)[i] += phase;
            tile(&x, (phase + 1) % TILES)[i] = mix(phase, i);
        }
    }
    tiles_drop(&x);
}

/* ---- phaseread: tasks read the neighbour that the phase before has written ------------------- */

static void read_next(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]);
    const uint64_t *from = elements(buffers[1]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned which, number;

    starpu_codelet_unpack_args(arg, &which, &number);
    to[0] += from[0];
    work(to, which + 1 < TILES ? from + n : from - which * n, n, number);
}

static struct starpu_codelet read_next_codelet = {
    .cpu_funcs = {read_next}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "read_next"};

void run_phaseread(void)
{
    struct tiles x[2];

    tiles_make(&x[0], TILES, LENGTH, 8);
    tiles_make(&x[1], TILES, LENGTH, 9);
    for (unsigned phase = 0; phase < phases(60); phase++) {
        const struct tiles *from = &x[phase % 2], *to = &x[(phase + 1) % 2];
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&read_next_codelet, STARPU_RW, to->handles[i], STARPU_R,
                                    from->handles[i], STARPU_VALUE, &i, sizeof(i), STARPU_VALUE,
                                    &phase, sizeof(phase), 0));
        starpu_task_wait_for_all();
    }
    tiles_drop(&x[1]);
    tiles_drop(&x[0]);
}

/* ---- ownwork: main() computes for about 50 ms in registered memory --------------------------- */

void run_ownwork(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 10);
    for (unsigned phase = 0; phase < phases(10); phase++) {
        submit_updates(&x, phase);
        starpu_task_wait_for_all();
        for (unsigned step = 0; step < 40; step++)
            work(tile(&x, step % TILES), tile(&x, (step + 3) % TILES), LENGTH, step);
    }
    tiles_drop(&x);
}

/* ---- noacquire-init: main() initialises sums that tasks declare as written only -------------- */

static void accumulate(void *buffers[], void *arg)
{
    uint64_t *sum = elements(buffers[0]);
    const uint64_t *from = elements(buffers[1]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    uint64_t busy = churn(number);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        sum[i] += from[i] ^ busy;
}

static struct starpu_codelet accumulate_codelet = {
    .cpu_funcs = {accumulate}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "accumulate"};

void run_noacquire_init(void)
{
    struct tiles sums, x;

    tiles_make(&sums, TILES, LENGTH, 11);
    tiles_make(&x, TILES, LENGTH, 12);
    for (unsigned phase = 0; phase < phases(30); phase++) {
        for (size_t i = 0; i < TILES * LENGTH; i++)
            sums.at[i] = phase * i;
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&accumulate_codelet, STARPU_W, sums.handles[i], STARPU_R,
                                    x.handles[i], STARPU_VALUE, &phase, sizeof(phase), 0));
        for (unsigned i = 0; i < TILES; i++)
            submit_combine(x.handles[i], sums.handles[(i + 1) % TILES], phase);
        starpu_task_wait_for_all();
    }
    tiles_drop(&x);
    tiles_drop(&sums);
}

/* ---- reads-only: tasks write no data, their sum is a global ---------------------------------- */

static uint64_t total; /* addition commutes */

static void add_to_total(void *buffers[], void *arg)
{
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    uint64_t busy = churn(number);
    uint64_t sum = digest(elements(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]));
    __atomic_add_fetch(&total, sum ^ busy, __ATOMIC_RELAXED);
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_to_total}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_to_total"};

void run_reads_only(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 13);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        for (unsigned i = 0; i < TILES; i++)
            must(starpu_task_insert(&add_codelet, STARPU_R, x.handles[i], STARPU_VALUE, &phase,
                                    sizeof(phase), 0));
        starpu_task_wait_for_all();
        tiles_rescale(&x, phase);
    }
    note(total);
    tiles_drop(&x);
}

/* ---- closed: a table that main() opens only to change it ------------------------------------- */

void run_closed(void)
{
    struct tiles x;
    starpu_data_handle_t handle;
    size_t bytes = LENGTH * sizeof(uint64_t);
    uint64_t *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (table == MAP_FAILED)
        abort();
    tiles_make(&x, 4, LENGTH, 61);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)table, LENGTH, sizeof(*table));
    for (unsigned phase = 0; phase < phases(60); phase++) {
        must(mprotect(table, bytes, PROT_READ | PROT_WRITE));
        for (unsigned i = 0; i < LENGTH; i++)
            table[i] += mix(i, phase);
        must(mprotect(table, bytes, PROT_READ));
        for (unsigned i = 0; i < x.count; i++)
            submit_combine(x.handles[i], handle, phase);
        starpu_task_wait_for_all();
    }
    starpu_data_unregister(handle);
    note(digest(table, LENGTH));
    munmap(table, bytes);
    tiles_drop(&x);
}
