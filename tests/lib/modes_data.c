/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/modes.c about data: try (main() asks for a value until it gets it, and decides
 * by it), acquire-cb (a callback reads the value), acquire-cb-write (callbacks change it),
 * wont-use, invalidate (tasks fill StarPU's memory, others read it, then StarPU frees it, again and
 * again), coo, csr (tasks write a sparse matrix). */
#include <unistd.h>

#include "lib/modes.h"

static void submit_round(int number)
{
    for (int chain = 0; chain < CHAINS; chain++)
        submit_step(chain, number);
}

void run_try(void)
{
    for (int number = 0; number < LENGTH; number++) {
        int chain = number % CHAINS;

        submit_round(number);
        while (starpu_data_acquire_try(handles[chain], STARPU_R) != 0)
            usleep(100);
        uint64_t seen = values[chain];
        starpu_data_release(handles[chain]);
        count(seen);
        submit_step((int)(seen % CHAINS), number);
    }
}

static void read_value(void *arg)
{
    int chain = (int)(intptr_t)arg;

    count(values[chain] >> 3);
    starpu_data_release(handles[chain]);
}

void run_acquire_cb(void)
{
    for (int number = 0; number < LENGTH; number++) {
        submit_round(number);
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_data_acquire_cb(handles[chain], STARPU_R, read_value,
                                        (void *)(intptr_t)chain));
    }
}

static void change_value(void *arg)
{
    int chain = (int)(intptr_t)arg;

    values[chain] = values[chain] * 31 + 5;
    starpu_data_release(handles[chain]);
}

static void set_value(void *arg)
{
    int chain = (int)(intptr_t)arg;

    values[chain] = 77;
    starpu_data_release(handles[chain]);
}

void run_acquire_cb_write(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            void *arg = (void *)(intptr_t)chain;

            submit_step(chain, number);
            must(starpu_data_acquire_cb(handles[chain], STARPU_RW, change_value, arg));
            if (number % 5 == 3)
                must(starpu_data_acquire_cb(handles[chain], STARPU_W, set_value, arg));
            if (number % 7 == 4) {
                must(starpu_data_acquire(handles[chain], STARPU_RW));
                count(values[chain]++);
                starpu_data_release(handles[chain]);
            }
            if (number % 6 == 2)
                must(starpu_data_acquire_cb(handles[chain], STARPU_RW, change_value, arg));
        }
}

void run_wont_use(void)
{
    for (int number = 0; number < LENGTH; number++) {
        submit_round(number);
        starpu_data_wont_use(handles[number % CHAINS]);
    }
}

/* ---- invalidate ----------------------------------------------------------------------------- */

enum { LARGE = 1 << 17, LARGES = 3 }; /* words: memory that goes back to the system when freed */

static void fill(void *buffers[], void *arg)
{
    uint64_t *words = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *value = (const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    (void)arg;
    for (uint64_t i = 0; i < LARGE; i++)
        words[i] = *value * 31 + i;
}

static void fold(void *buffers[], void *arg)
{
    const uint64_t *words = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint64_t *value = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    (void)arg;
    for (uint64_t i = 0; i < LARGE; i++)
        *value = *value * 3 + words[i];
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "fill"};
static struct starpu_codelet fold_codelet = {
    .cpu_funcs = {fold}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "fold"};

void run_invalidate(void)
{
    starpu_data_handle_t large[LARGES];

    for (int i = 0; i < LARGES; i++)
        starpu_vector_data_register(&large[i], -1, 0, LARGE, sizeof(uint64_t));
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            starpu_data_handle_t data = large[(number + chain) % LARGES];

            must(starpu_task_insert(&fill_codelet, STARPU_W, data, STARPU_R, handles[chain], 0));
            must(starpu_task_insert(&fold_codelet, STARPU_R, data, STARPU_RW, handles[chain], 0));
            if (number % 7 == 6)
                starpu_data_invalidate(data);
            else
                starpu_data_invalidate_submit(data);
        }
    for (int i = 0; i < LARGES; i++)
        starpu_data_unregister_no_coherency(large[i]);
}

/* ---- coo and csr ----------------------------------------------------------------------------- */

enum { ROWS = 16, PER_ROW = 3, NONZERO = ROWS * PER_ROW };

static void scale(void *buffers[], void *arg)
{
    uint64_t *nonzero = (uint64_t *)STARPU_CSR_GET_NZVAL(buffers[0]);
    uint32_t *columns = STARPU_CSR_GET_COLIND(buffers[0]);
    uint32_t *rows = STARPU_CSR_GET_ROWPTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (uint32_t row = 0; row < STARPU_CSR_GET_NROW(buffers[0]); row++)
        for (uint32_t i = rows[row]; i < rows[row + 1]; i++)
            nonzero[i] = nonzero[i] * 31 + columns[i] + row + (uint64_t)number;
}

static struct starpu_codelet scale_codelet = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};

void run_csr(void)
{
    static uint64_t nonzero[NONZERO];
    static uint32_t columns[NONZERO], rows[ROWS + 1];
    starpu_data_handle_t matrix;

    for (uint32_t i = 0; i < NONZERO; i++)
        columns[i] = i % PER_ROW * 5;
    for (uint32_t row = 0; row <= ROWS; row++)
        rows[row] = row * PER_ROW;
    starpu_csr_data_register(&matrix, STARPU_MAIN_RAM, NONZERO, ROWS, (uintptr_t)nonzero, columns,
                             rows, 0, sizeof(nonzero[0]));
    for (int number = 0; number < LENGTH; number++) {
        submit_step(0, number);
        must(starpu_task_insert(&scale_codelet, STARPU_RW, matrix, STARPU_VALUE, &number,
                                sizeof(number), 0));
    }
    starpu_data_unregister(matrix);
    for (int i = 0; i < NONZERO; i++)
        count(nonzero[i] * (uint64_t)(2 * i + 1));
}

/* A kernel writes all three arrays. */
static void move_coo(void *buffers[], void *arg)
{
    uint64_t *nonzero = (uint64_t *)STARPU_COO_GET_VALUES(buffers[0]);
    uint32_t *columns = STARPU_COO_GET_COLUMNS(buffers[0]), *rows = STARPU_COO_GET_ROWS(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (uint32_t i = 0; i < STARPU_COO_GET_NVALUES(buffers[0]); i++) {
        nonzero[i] = nonzero[i] * 31 + columns[i] + 7 * rows[i] + (uint64_t)number;
        columns[i] = (columns[i] * 3 + 1) % ROWS;
        rows[i] = (rows[i] + columns[i]) % ROWS;
    }
}

static void read_coo(void *buffers[], void *arg)
{
    const uint64_t *nonzero = (uint64_t *)STARPU_COO_GET_VALUES(buffers[0]);
    uint64_t *to = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);

    (void)arg;
    for (uint32_t i = 0; i < STARPU_COO_GET_NVALUES(buffers[0]); i++)
        *to = *to * 31 + nonzero[i] + STARPU_COO_GET_COLUMNS(buffers[0])[i];
}

static struct starpu_codelet move_coo_codelet = {
    .cpu_funcs = {move_coo}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "move_coo"};
static struct starpu_codelet read_coo_codelet = {
    .cpu_funcs = {read_coo}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "read_coo"};

void run_coo(void)
{
    static uint64_t nonzero[NONZERO];
    static uint32_t columns[NONZERO], rows[NONZERO];
    starpu_data_handle_t matrix;

    for (uint32_t i = 0; i < NONZERO; i++) {
        columns[i] = i % PER_ROW * 5;
        rows[i] = i / PER_ROW;
    }
    starpu_coo_data_register(&matrix, STARPU_MAIN_RAM, ROWS, ROWS, NONZERO, columns, rows,
                             (uintptr_t)nonzero, sizeof(nonzero[0]));
    for (int number = 0; number < LENGTH; number++) {
        submit_step(0, number);
        must(starpu_task_insert(&move_coo_codelet, STARPU_RW, matrix, STARPU_VALUE, &number,
                                sizeof(number), 0));
        must(starpu_task_insert(&read_coo_codelet, STARPU_R, matrix, STARPU_RW, handles[1], 0));
    }
    starpu_data_unregister(matrix);
    for (int i = 0; i < NONZERO; i++)
        count(nonzero[i] * (uint64_t)(2 * i + 1) + columns[i] + 5 * rows[i]);
}
