/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program may say of its data and tasks, so that less is saved and less is done again: a
 * power iteration with a large matrix that tasks generate. The matrix is excluded: no recovery line
 * holds it, and a restart generates it again. Tasks that tell how far it is, and a counter for
 * statistics, are of no concern to a restart. Data has names, for those who look at what is saved.
 *
 *   cc 13_declared.c $(pkg-config --cflags --libs starputic starpu-1.3) -lm -o 13_declared
 *   STARPU_TIC_EVERY=100 STARPU_TIC_FAIL=task-end:900 ./13_declared      killed after 900 tasks
 *   starpu-tic extract 13_declared-*.tic                                 the vectors, not the
 * matrix
 *   ./13_declared                                                        resumed
 *
 * Usage: 13_declared [ITERATIONS [all]], all: the matrix is saved, too */
#include <math.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

enum { TILES = 8, ROWS = 128, COLUMNS = TILES * ROWS };

static atomic_uint multiplications; /* statistics: of this run, whatever was skipped */

static float *values_of(void *buffer)
{
    return (float *)STARPU_VECTOR_GET_PTR(buffer);
}

/* Rows of a matrix that is stronger near its diagonal. */
static void generate(void *buffers[], void *arg)
{
    float *rows = values_of(buffers[0]);
    unsigned tile, state;

    starpu_codelet_unpack_args(arg, &tile);
    state = tile + 1;
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < COLUMNS; k++) {
            state = state * 1664525u + 1013904223u;
            rows[i * COLUMNS + k] =
                (float)(state >> 8) / (1 << 24) + (i + tile * ROWS == k ? 9 : 0);
        }
}

/* Its part of the new vector. */
static void multiply(void *buffers[], void *arg)
{
    const float *rows = values_of(buffers[1]), *from = values_of(buffers[2]);
    float *to = values_of(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < ROWS; i++) {
        to[i] = 0;
        for (unsigned k = 0; k < COLUMNS; k++)
            to[i] += rows[i * COLUMNS + k] * from[k];
    }
    multiplications++;
}

static void gather(void *buffers[], void *arg)
{
    float *to = values_of(buffers[0]), sum = 0;

    (void)arg;
    for (unsigned t = 0; t < TILES; t++)
        memcpy(to + t * ROWS, values_of(buffers[t + 1]), ROWS * sizeof(float));
    for (unsigned k = 0; k < COLUMNS; k++)
        sum += to[k] * to[k];
    for (unsigned k = 0; k < COLUMNS; k++)
        to[k] /= sqrtf(sum);
}

static void tell(void *buffers[], void *arg)
{
    int iteration;

    starpu_codelet_unpack_args(arg, &iteration);
    fprintf(stderr, "iteration %d: %g\n", iteration, values_of(buffers[0])[0]);
}

static struct starpu_codelet generator = {
    .cpu_funcs = {generate}, .nbuffers = 1, .modes = {STARPU_W}, .name = "generate"};
static struct starpu_codelet multiplier = {.cpu_funcs = {multiply},
                                           .nbuffers = 3,
                                           .modes = {STARPU_W, STARPU_R, STARPU_R},
                                           .name = "multiply"};
static struct starpu_codelet gatherer = {
    .cpu_funcs = {gather}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "gather"};
static struct starpu_codelet teller = {
    .cpu_funcs = {tell}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tell"};

static float matrix[TILES][ROWS * COLUMNS], part[TILES][ROWS], vector[COLUMNS];
static starpu_data_handle_t rows[TILES], parts[TILES], whole;

static void register_named(starpu_data_handle_t *handle, float *memory, unsigned length,
                           const char *name)
{
    starpu_vector_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)memory, length, sizeof(float));
    starpu_tic_data_set_name(*handle, name);
}

static void register_all(int excludes)
{
    char name[32];

    for (unsigned k = 0; k < COLUMNS; k++)
        vector[k] = 1;
    register_named(&whole, vector, COLUMNS, "vector");
    for (unsigned t = 0; t < TILES; t++) {
        snprintf(name, sizeof(name), "matrix, part %u", t);
        register_named(&rows[t], matrix[t], ROWS * COLUMNS, name);
        if (excludes)
            starpu_tic_data_exclude(rows[t]);
        snprintf(name, sizeof(name), "product, part %u", t);
        register_named(&parts[t], part[t], ROWS, name);
    }
}

static void iterate(int iteration)
{
    struct starpu_data_descr accesses[TILES + 1] = {{whole, STARPU_W}};
    int status = 0;

    for (unsigned t = 0; t < TILES; t++) {
        status |= starpu_task_insert(&multiplier, STARPU_W, parts[t], STARPU_R, rows[t], STARPU_R,
                                     whole, 0);
        accesses[t + 1] = (struct starpu_data_descr){parts[t], STARPU_R};
    }
    status |= starpu_task_insert(&gatherer, STARPU_DATA_MODE_ARRAY, accesses, TILES + 1, 0);
    if (iteration % 10 == 9)
        status |= starpu_task_insert(&teller, STARPU_R, whole, STARPU_VALUE, &iteration,
                                     sizeof(iteration), 0);
    if (status != 0)
        exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 200;
    double sum = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_tic_codelet_can_skip(&multiplier); /* nobody needs what it has counted */
    starpu_tic_codelet_can_skip(&gatherer);   /* it does nothing but write its data */
    starpu_tic_codelet_can_skip(&teller);     /* what was told need not be told again */
    register_all(argc < 3 || strcmp(argv[2], "all") != 0);
    for (unsigned t = 0; t < TILES; t++)
        if (starpu_task_insert(&generator, STARPU_W, rows[t], STARPU_VALUE, &t, sizeof(t), 0) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < iterations; i++)
        iterate(i);
    for (unsigned t = 0; t < TILES; t++) {
        starpu_data_unregister(rows[t]);
        starpu_data_unregister(parts[t]);
    }
    starpu_data_unregister(whole);
    for (unsigned k = 0; k < COLUMNS; k++)
        sum += vector[k] * (double)(k + 1);
    printf("%.9g\n", sum);
    fprintf(stderr, "%u multiplications in this run\n", multiplications);
    starpu_shutdown();
    return EXIT_SUCCESS;
}
