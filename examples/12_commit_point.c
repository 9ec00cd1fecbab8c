/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Very many small iterations, and a restart that begins with the last of them: main() names its own
 * variables, and says where an iteration begins. It tells on stderr with which one it goes on, and
 * how long after its start the first task of that begins.
 *
 *   cc 12_commit_point.c $(pkg-config --cflags --libs starputic starpu-1.3) -o 12_commit_point
 *   STARPU_TIC_PERIOD=1 ./12_commit_point 1000000 & sleep 20; kill -9 $!
 *   STARPU_TIC_PERIOD=1 ./12_commit_point 1000000
 *
 * Usage: 12_commit_point [ITERATIONS] */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "starpu_tic.h"

enum { TILES = 4, LENGTH = 64 };

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double started;
static int first_task; /* 1: the next one is to say when it begins */

static void turn(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    float by;

    if (first_task && __atomic_exchange_n(&first_task, 0, __ATOMIC_RELAXED))
        fprintf(stderr, "first task after %.3f s\n", seconds() - started);
    starpu_codelet_unpack_args(arg, &by);
    for (int i = 0; i < LENGTH; i++)
        values[i] = values[i] * 0.5f + values[(i + 1) % LENGTH] * 0.25f + by;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {turn}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "turn"};

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

int main(int argc, char **argv)
{
    static float tiles[TILES][LENGTH];
    starpu_data_handle_t handles[TILES];
    int iterations = argc > 1 ? atoi(argv[1]) : 500, i;
    unsigned random = 1;
    double sum = 0, total = 0;

    started = seconds();
    if (starpu_init(NULL) != 0)
        return 77;
    for (int t = 0; t < TILES; t++)
        starpu_vector_data_register(&handles[t], STARPU_MAIN_RAM, (uintptr_t)tiles[t], LENGTH,
                                    sizeof(float));
    starpu_tic_protect_memory("iteration", &i, sizeof(i));
    starpu_tic_protect_memory("random", &random, sizeof(random));
    starpu_tic_protect_memory("sum", &sum, sizeof(sum));
    for (i = 0; i < iterations; i++) {
        if (starpu_tic_commit_point() == 1) {
            fprintf(stderr, "goes on with iteration %d\n", i);
            first_task = 1;
        }
        for (int t = 0; t < TILES; t++) {
            float by = (float)(next_random(&random) % 1000) / 1000;
            sum += by;
            if (starpu_task_insert(&codelet, STARPU_RW, handles[t], STARPU_VALUE, &by, sizeof(by),
                                   0) != 0)
                return EXIT_FAILURE;
        }
    }
    for (int t = 0; t < TILES; t++) {
        starpu_data_unregister(handles[t]);
        for (int k = 0; k < LENGTH; k++)
            total += tiles[t][k];
    }
    printf("%.9g %.9g\n", total, sum);
    starpu_shutdown();
    return EXIT_SUCCESS;
}
