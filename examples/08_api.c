/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that takes part: it is linked with -lstarputic, asks for a checkpoint after each phase,
 * and tells how far a continued run is; its kernel checks its result, and has itself executed again
 * where that is wrong. It needs no environment variable and no launcher.
 *
 *   cc 08_api.c $(pkg-config --cflags --libs starputic starpu-1.3) -o 08_api
 *   STARPU_TIC_PROTOCOL=off ./08_api                                     plain
 *   ./08_api                                                             protected
 *   STARPU_TIC_EVERY=16 STARPU_TIC_FAIL=task-end:80 ./08_api             killed after 80 tasks
 *   starpu-tic extract 08_api-*.tic                                      what is saved
 *   ./08_api                                                             resumed */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "starpu_tic.h"

enum { PHASES = 8, TILES = 16, LENGTH = 4096 };

static void smooth(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 1; i < LENGTH; i++)
        values[i] = (values[i] + values[i - 1]) / 2;
    /* Averages of values below TILES + 7 are below it: else a processor or memory was wrong. */
    if (!(values[LENGTH - 1] < TILES + 7))
        starpu_tic_task_failed();
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {smooth}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "smooth"};

int main(void)
{
    static float tiles[TILES][LENGTH];
    starpu_data_handle_t handles[TILES];
    struct starpu_tic_progress progress;
    double sum = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_tic_codelet_can_fail(&codelet); /* what its tasks write is kept before each kernel */
    for (int t = 0; t < TILES; t++) {
        char name[16];
        for (int i = 0; i < LENGTH; i++)
            tiles[t][i] = (float)(t + i % 7);
        starpu_vector_data_register(&handles[t], STARPU_MAIN_RAM, (uintptr_t)tiles[t], LENGTH,
                                    sizeof(float));
        snprintf(name, sizeof(name), "tile %d", t);
        starpu_tic_data_set_name(handles[t], name); /* `starpu-tic extract DIRECTORY` shows it */
    }
    for (int phase = 0; phase < PHASES; phase++) {
        for (int t = 0; t < TILES; t++)
            if (starpu_task_insert(&codelet, STARPU_RW, handles[t], 0) != 0)
                return EXIT_FAILURE;
        starpu_task_wait_for_all();
        if (starpu_tic_get_progress(&progress) == 0 && progress.replaying)
            fprintf(stderr, "phase %d was done before: %llu of %llu tasks skipped\n", phase,
                    (unsigned long long)progress.skipped_tasks,
                    (unsigned long long)progress.recovered_tasks);
        starpu_tic_checkpoint_request();
    }
    for (int t = 0; t < TILES; t++) {
        starpu_data_unregister(handles[t]);
        sum += tiles[t][LENGTH - 1];
    }
    printf("%.9g\n", sum);
    starpu_shutdown();
    return EXIT_SUCCESS;
}
