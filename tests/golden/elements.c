/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elements of all types in data of all interfaces, for restarts on other architectures: whole
 * numbers and exact fractions, so that the result is the same on each of them. Prints a hash of all
 * numbers.
 *
 *   elements flow     main() submits all tasks, reads between them, reduces and partitions
 *   elements tree     kernels and callbacks submit tasks, too
 *   elements packed   callbacks submit tasks with packed arguments
 *
 * With ELEMENTS_UNTYPED in the environment the program declares no types. */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

#pragma weak starpu_tic_data_set_type

enum { LENGTH = 24, TURNS = 40, ROWS = 8, PER_ROW = 3, NONZERO = ROWS * PER_ROW, BLOCK = 2 };
enum { NX = 4, NY = 3, NZ = 2, LD = 6 };

struct particle {
    int32_t mass;
    float place[2];
};

static int8_t bytes[LENGTH];
static int16_t shorts[LENGTH];
static int32_t ints[LENGTH];
static int64_t longs[LENGTH];
static float floats[LENGTH];
static double doubles[LENGTH], parts[LENGTH];
static struct particle particles[LENGTH];
static double matrix[LD * NY], nonzero[NONZERO];
static float block[NX * NY * NZ], dense[NONZERO * BLOCK * BLOCK];
static uint32_t columns[NONZERO], rows[ROWS + 1];
static int64_t variable, total;

enum {
    BYTES,
    SHORTS,
    INTS,
    LONGS,
    FLOATS,
    DOUBLES,
    PARTICLES,
    MATRIX,
    BLOCK3,
    CSR,
    BCSR,
    VARIABLE,
    PARTS,
    HOMELESS,
    TOTAL,
    DATA
};
static starpu_data_handle_t data[DATA];
static uint64_t hash = UINT64_C(0xcbf29ce484222325);
static _Atomic uint64_t seen; /* by tasks that write no data */

static void must(int status)
{
    STARPU_CHECK_RETURN_VALUE(status, "a call of StarPU");
}

static void add(int64_t number)
{
    hash = (hash ^ (uint64_t)number) * UINT64_C(0x100000001b3);
}

/* ---- kernels --------------------------------------------------------------------------------- */

#define STEP(type, name)                                                                           \
    static void name(void *buffers[], void *arg)                                                   \
    {                                                                                              \
        type *values = (type *)STARPU_VECTOR_GET_PTR(buffers[0]);                                  \
        unsigned count = STARPU_VECTOR_GET_NX(buffers[0]);                                         \
        (void)arg;                                                                                 \
        for (unsigned i = 0; i < count; i++)                                                       \
            values[i] = (type)((int64_t)(values[i] * 3 + (type)i + 1) % 101);                      \
    }
STEP(int8_t, step_bytes_wide)
STEP(int16_t, step_shorts)
STEP(int32_t, step_ints)
STEP(int64_t, step_longs)
STEP(float, step_floats)
STEP(double, step_doubles)

static void step_bytes(void *buffers[], void *arg)
{
    int8_t *values = (int8_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    (void)step_bytes_wide;
    for (unsigned i = 0; i < LENGTH; i++)
        values[i] = (int8_t)((values[i] + (int)i + 1) % 101);
}

static void step_particles(void *buffers[], void *arg)
{
    struct particle *values = (struct particle *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 0; i < LENGTH; i++) {
        values[i].mass = (values[i].mass * 5 + i) % 997;
        values[i].place[0] = values[i].place[1] / 2 + 1;
        values[i].place[1] = (float)(values[i].mass % 16);
    }
}

static void step_matrix(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_MATRIX_GET_PTR(buffers[0]);
    unsigned ld = STARPU_MATRIX_GET_LD(buffers[0]);
    (void)arg;
    for (unsigned j = 0; j < NY; j++)
        for (unsigned i = 0; i < NX; i++)
            values[j * ld + i] = (double)((int64_t)(values[j * ld + i] * 3 + i + j) % 103);
}

static void step_block(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_BLOCK_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned i = 0; i < NX * NY * NZ; i++)
        values[i] = values[i] / 2 + (float)(i % 4);
}

static void step_csr(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_CSR_GET_NZVAL(buffers[0]);
    uint32_t *column = STARPU_CSR_GET_COLIND(buffers[0]), *row = STARPU_CSR_GET_ROWPTR(buffers[0]);
    (void)arg;
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t i = row[r]; i < row[r + 1]; i++)
            values[i] = (double)((int64_t)(values[i] * 3 + column[i] + r) % 107);
}

static void step_bcsr(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_BCSR_GET_NZVAL(buffers[0]);
    uint32_t *column = STARPU_BCSR_GET_COLIND(buffers[0]);
    (void)arg;
    for (uint32_t i = 0; i < NONZERO * BLOCK * BLOCK; i++)
        values[i] = (float)((int64_t)(values[i] * 3 + (float)column[i / (BLOCK * BLOCK)]) % 109);
}

static void step_variable(void *buffers[], void *arg)
{
    int64_t *value = (int64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    const int64_t *other = (const int64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    *value = (*value * 31 + other[3]) % 1000003;
}

static void look(void *buffers[], void *arg)
{
    (void)arg;
    seen += (uint64_t) * (const int64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static void begin(void *buffers[], void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0, LENGTH * sizeof(double));
}

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    *(int64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void fold(void *buffers[], void *arg)
{
    (void)arg;
    *(int64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) +=
        *(const int64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static void sum(void *buffers[], void *arg)
{
    const int64_t *values = (const int64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (int i = 0; i < LENGTH; i++)
        *(int64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += values[i];
}

#define CODELET(kernel)                                                                            \
    {                                                                                              \
        .cpu_funcs = {kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = #kernel                \
    }
/* By the number of the data. */
static struct starpu_codelet steps[] = {[BYTES] = CODELET(step_bytes),
                                        [SHORTS] = CODELET(step_shorts),
                                        [INTS] = CODELET(step_ints),
                                        [LONGS] = CODELET(step_longs),
                                        [FLOATS] = CODELET(step_floats),
                                        [DOUBLES] = CODELET(step_doubles),
                                        [PARTICLES] = CODELET(step_particles),
                                        [MATRIX] = CODELET(step_matrix),
                                        [BLOCK3] = CODELET(step_block),
                                        [CSR] = CODELET(step_csr),
                                        [BCSR] = CODELET(step_bcsr)};
static struct starpu_codelet part_codelet = CODELET(step_doubles);
static struct starpu_codelet begin_codelet = {
    .cpu_funcs = {begin}, .nbuffers = 1, .modes = {STARPU_W}, .name = "begin"};
static struct starpu_codelet variable_codelet = {.cpu_funcs = {step_variable},
                                                 .nbuffers = 2,
                                                 .modes = {STARPU_RW, STARPU_R},
                                                 .name = "variable"};
static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
static struct starpu_codelet clear_codelet = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
static struct starpu_codelet fold_codelet = {
    .cpu_funcs = {fold}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};
static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {sum}, .nbuffers = 2, .modes = {STARPU_REDUX, STARPU_R}, .name = "sum"};

/* ---- data ------------------------------------------------------------------------------------ */

static void declare(int which, const char *type)
{
    if (!getenv("ELEMENTS_UNTYPED") && starpu_tic_data_set_type)
        starpu_tic_data_set_type(data[which], type);
}

static void register_vector(int which, void *at, size_t size, const char *type)
{
    starpu_vector_data_register(&data[which], at ? STARPU_MAIN_RAM : -1, (uintptr_t)at, LENGTH,
                                size);
    declare(which, type);
}

static void register_sparse(void)
{
    for (uint32_t i = 0; i < NONZERO; i++)
        columns[i] = i % PER_ROW * 2;
    for (uint32_t row = 0; row <= ROWS; row++)
        rows[row] = row * PER_ROW;
    starpu_csr_data_register(&data[CSR], STARPU_MAIN_RAM, NONZERO, ROWS, (uintptr_t)nonzero,
                             columns, rows, 0, sizeof(nonzero[0]));
    declare(CSR, "double");
    starpu_bcsr_data_register(&data[BCSR], STARPU_MAIN_RAM, NONZERO, ROWS, (uintptr_t)dense,
                              columns, rows, 0, BLOCK, BLOCK, sizeof(dense[0]));
    declare(BCSR, "float");
}

static void register_all(void)
{
    for (int i = 0; i < LENGTH; i++) {
        doubles[i] = i * 3;
        longs[i] = INT64_C(0x100000000) * i;
        particles[i] = (struct particle){i, {(float)i / 4, 2}};
    }
    register_vector(BYTES, bytes, sizeof(bytes[0]), "int8");
    register_vector(SHORTS, shorts, sizeof(shorts[0]), "int16");
    register_vector(INTS, ints, sizeof(ints[0]), "int32");
    register_vector(LONGS, longs, sizeof(longs[0]), "int64");
    register_vector(FLOATS, floats, sizeof(floats[0]), "float");
    register_vector(DOUBLES, doubles, sizeof(doubles[0]), "double");
    register_vector(PARTICLES, particles, sizeof(particles[0]), "int32,2*float");
    starpu_matrix_data_register(&data[MATRIX], STARPU_MAIN_RAM, (uintptr_t)matrix, LD, NX, NY,
                                sizeof(matrix[0]));
    declare(MATRIX, "double");
    starpu_block_data_register(&data[BLOCK3], STARPU_MAIN_RAM, (uintptr_t)block, NX, NX * NY, NX,
                               NY, NZ, sizeof(block[0]));
    declare(BLOCK3, "float");
    register_sparse();
    starpu_variable_data_register(&data[VARIABLE], STARPU_MAIN_RAM, (uintptr_t)&variable,
                                  sizeof(variable));
    declare(VARIABLE, "int64");
    register_vector(PARTS, parts, sizeof(parts[0]), "double");
    register_vector(HOMELESS, NULL, sizeof(double), "double");
    starpu_variable_data_register(&data[TOTAL], STARPU_MAIN_RAM, (uintptr_t)&total, sizeof(total));
    declare(TOTAL, "int64");
    starpu_data_set_reduction_methods(data[TOTAL], &fold_codelet, &clear_codelet);
}

#define ADD_ALL(array)                                                                             \
    for (size_t i = 0; i < sizeof(array) / sizeof((array)[0]); i++)                                \
    add((int64_t)((array)[i] * 1024))

static int finish(void)
{
    for (int which = 0; which < DATA; which++)
        starpu_data_unregister(data[which]);
    starpu_shutdown();
    ADD_ALL(bytes);
    ADD_ALL(shorts);
    ADD_ALL(ints);
    for (int i = 0; i < LENGTH; i++)
        add(longs[i]);
    ADD_ALL(floats);
    ADD_ALL(doubles);
    ADD_ALL(parts);
    for (int i = 0; i < LENGTH; i++) {
        add(particles[i].mass);
        add((int64_t)(particles[i].place[0] * 1024));
        add((int64_t)(particles[i].place[1] * 1024));
    }
    ADD_ALL(matrix);
    ADD_ALL(block);
    ADD_ALL(nonzero);
    ADD_ALL(dense);
    ADD_ALL(columns);
    ADD_ALL(rows);
    add(variable);
    add(total);
    printf("result %016" PRIx64 "\n", hash);
    return 0;
}

/* ---- main() submits -------------------------------------------------------------------------- */

static void step_parts(void)
{
    struct starpu_data_filter halves = {.filter_func = starpu_vector_filter_block, .nchildren = 2};

    starpu_data_partition(data[PARTS], &halves);
    for (int part = 0; part < 2; part++)
        must(starpu_task_insert(&part_codelet, STARPU_RW,
                                starpu_data_get_sub_data(data[PARTS], 1, part), 0));
    starpu_data_unpartition(data[PARTS], STARPU_MAIN_RAM);
}

static void run_flow(void)
{
    must(starpu_task_insert(&begin_codelet, STARPU_W, data[HOMELESS], 0));
    for (int turn = 0; turn < TURNS; turn++) {
        for (int which = BYTES; which <= BCSR; which++)
            must(starpu_task_insert(&steps[which], STARPU_RW, data[which], 0));
        must(starpu_task_insert(&steps[DOUBLES], STARPU_RW, data[HOMELESS], 0));
        must(starpu_task_insert(&variable_codelet, STARPU_RW, data[VARIABLE], STARPU_R, data[LONGS],
                                0));
        must(starpu_task_insert(&look_codelet, STARPU_R, data[VARIABLE], STARPU_VALUE, &turn,
                                sizeof(turn), 0));
        must(starpu_task_insert(&sum_codelet, STARPU_REDUX, data[TOTAL], STARPU_R, data[LONGS], 0));
        if (turn % 8 == 5)
            step_parts();
        if (turn % 8 == 2) {
            must(starpu_data_acquire(data[VARIABLE], STARPU_RW));
            add(variable);
            variable += turn;
            starpu_data_release(data[VARIABLE]);
        }
        if (turn % 8 == 7) {
            must(starpu_data_acquire(data[HOMELESS], STARPU_R));
            const double *values = starpu_data_get_local_ptr(data[HOMELESS]);
            for (int i = 0; i < LENGTH; i++)
                add((int64_t)values[i]);
            starpu_data_release(data[HOMELESS]);
        }
    }
}

/* ---- kernels and callbacks submit ------------------------------------------------------------ */

/* Exported, so that another build finds it by its name. */
void step_leaf(void *buffers[], void *arg);
void step_leaf(void *buffers[], void *arg)
{
    step_longs(buffers, arg);
}
struct starpu_codelet elements_leaf = {
    .cpu_funcs = {step_leaf}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "leaf"};

static void submit_leaf(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    must(starpu_task_insert(&elements_leaf, STARPU_RW, data[LONGS], 0));
}

static void after(void *arg)
{
    (void)arg;
    must(starpu_task_insert(&steps[DOUBLES], STARPU_RW, data[DOUBLES], 0));
}

static void after_packed(void *arg)
{
    int turn = (int)(intptr_t)arg;
    must(starpu_task_insert(&steps[DOUBLES], STARPU_RW, data[DOUBLES], STARPU_VALUE, &turn,
                            sizeof(turn), 0));
}

static struct starpu_codelet node_codelet = {
    .cpu_funcs = {submit_leaf}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "node"};

static void run_tree(void (*callback)(void *))
{
    for (int turn = 0; turn < TURNS; turn++) {
        must(starpu_task_insert(&node_codelet, STARPU_RW, data[VARIABLE], 0));
        must(starpu_task_insert(&steps[INTS], STARPU_RW, data[INTS], STARPU_CALLBACK_WITH_ARG_NFREE,
                                callback, (void *)(intptr_t)turn, 0));
        must(starpu_task_insert(&steps[PARTICLES], STARPU_RW, data[PARTICLES], 0));
    }
    must(starpu_task_wait_for_all());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "flow";

    if (starpu_init(NULL) != 0)
        return 77;
    register_all();
    if (strcmp(what, "flow") == 0)
        run_flow();
    else
        run_tree(strcmp(what, "packed") == 0 ? after_packed : after);
    return finish();
}
