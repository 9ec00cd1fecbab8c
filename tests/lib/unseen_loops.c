/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: everyday loops, whose main() reads what a task computed, by pointer,
 * after it has waited for all tasks. */
#include "lib/unseen.h"

/* ---- history: a registered error, of several sizes ------------------------------------------- */

/* Fractions of 1024 below 2^40, so that doubles are exact. */
static void fill_error(double *error, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++)
        error[i] = (double)(mix(value, i) >> 24) / 1024;
}

static uint64_t bits_of(const double *error, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = mix(sum, (uint64_t)(error[i] * 1024));
    return sum;
}

static void iterate(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    work(to, to, n, number);
    fill_error((double *)STARPU_VECTOR_GET_PTR(buffers[1]), STARPU_VECTOR_GET_NX(buffers[1]),
               to[number % n]);
}

static struct starpu_codelet iterate_codelet = {
    .cpu_funcs = {iterate}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_W}, .name = "iterate"};

static void history_loop(uint32_t error_length)
{
    struct tiles x;
    double *error = calloc(error_length, sizeof(*error));
    starpu_data_handle_t error_handle;

    tiles_make(&x, 1, LENGTH, 1);
    starpu_vector_data_register(&error_handle, STARPU_MAIN_RAM, (uintptr_t)error, error_length,
                                sizeof(*error));
    for (unsigned i = 0; i < phases(200); i++) {
        must(starpu_task_insert(&iterate_codelet, STARPU_RW, x.handles[0], STARPU_W, error_handle,
                                STARPU_VALUE, &i, sizeof(i), 0));
        starpu_task_wait_for_all();
        note(bits_of(error, error_length));
    }
    starpu_data_unregister(error_handle);
    free(error);
    tiles_drop(&x);
}

void run_history(void)
{
    history_loop(1);
}

void run_history_4096(void)
{
    history_loop(4096 / sizeof(double));
}

void run_history_4104(void)
{
    history_loop(4104 / sizeof(double));
}

/* ---- decide: the next codelet depends on the error ------------------------------------------- */

static void damp(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]);
    double *error = (double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    uint64_t busy = churn(number);
    for (size_t i = 0; i < n; i++)
        to[i] = to[i] / 5 + (busy >> 32);
    fill_error(error, 1, to[0]);
}

static struct starpu_codelet damp_codelet = {
    .cpu_funcs = {damp}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_W}, .name = "damp"};

void run_decide(void)
{
    struct tiles x;
    double error = 0;
    starpu_data_handle_t error_handle;

    tiles_make(&x, 1, LENGTH, 2);
    starpu_vector_data_register(&error_handle, STARPU_MAIN_RAM, (uintptr_t)&error, 1,
                                sizeof(error));
    for (unsigned i = 0; i < phases(200); i++) {
        bool large = (uint64_t)error % 3 == 0;

        must(starpu_task_insert(large ? &damp_codelet : &iterate_codelet, STARPU_RW, x.handles[0],
                                STARPU_W, error_handle, STARPU_VALUE, &i, sizeof(i), 0));
        starpu_task_wait_for_all();
        note(large);
    }
    starpu_data_unregister(error_handle);
    tiles_drop(&x);
}

/* ---- sumlarge: main() sums a vector of 1 MB -------------------------------------------------- */

void run_sumlarge(void)
{
    struct tiles x, y;

    tiles_make(&x, 1, 1 << 17, 3);
    tiles_make(&y, 1, LENGTH, 4);
    for (unsigned i = 0; i < phases(100); i++) {
        submit_update(x.handles[0], i);
        submit_update(y.handles[0], i);
        starpu_task_wait_for_all();
        note(tiles_digest(&x));
    }
    tiles_drop(&y);
    tiles_drop(&x);
}

/* ---- flag: main() clears a flag before each wait, and tasks set it to what it was then ------- */

static void sweep(void *buffers[], void *arg)
{
    uint64_t *to = elements(buffers[0]), *changed = elements(buffers[1]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    work(to, to, n, number);
    if (number % 16 != 15)
        *changed += 1;
}

static struct starpu_codelet sweep_codelet = {
    .cpu_funcs = {sweep}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}, .name = "sweep"};

static void flag_loop(bool acquires, bool decides)
{
    struct tiles x, flag;
    unsigned hits = 0, last = phases(200);

    tiles_make(&x, 1, LENGTH, 11);
    tiles_make(&flag, 1, 1, 12);
    for (unsigned i = 0; i < last && (!decides || hits <= i); i++) {
        if (acquires)
            must(starpu_data_acquire(flag.handles[0], STARPU_W));
        *tile(&flag, 0) = 0;
        if (acquires)
            starpu_data_release(flag.handles[0]);
        must(starpu_task_insert(&sweep_codelet, STARPU_RW, x.handles[0], STARPU_RW, flag.handles[0],
                                STARPU_VALUE, &i, sizeof(i), 0));
        starpu_task_wait_for_all();
        hits += (unsigned)*tile(&flag, 0);
        if (decides && *tile(&flag, 0) == 0)
            submit_update(x.handles[0], i);
        note(hits);
    }
    tiles_drop(&flag);
    tiles_drop(&x);
}

void run_flag(void)
{
    flag_loop(false, false);
}

void run_flag_acquire(void)
{
    flag_loop(true, false);
}

void run_flag_decide(void)
{
    flag_loop(false, true);
}

/* Some of many: main() changes others, too, which no task does. */
void run_flag_many(void)
{
    struct tiles x, flags;

    tiles_make(&x, 1, LENGTH, 13);
    tiles_make(&flags, MOST_TILES, LENGTH, 14);
    for (unsigned i = 0; i < phases(200); i++) {
        unsigned which = i % 3;

        *tile(&flags, which) = 0;
        *tile(&flags, 3 + i % (MOST_TILES - 3)) += i;
        must(starpu_task_insert(&sweep_codelet, STARPU_RW, x.handles[0], STARPU_RW,
                                flags.handles[which], STARPU_VALUE, &i, sizeof(i), 0));
        starpu_task_wait_for_all();
        note(*tile(&flags, which));
        note(*tile(&flags, 3 + i * 7 % (MOST_TILES - 3)));
    }
    tiles_drop(&flags);
    tiles_drop(&x);
}
