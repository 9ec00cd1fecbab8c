/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Not a line of ours: a vector in parts, and tasks that change the parts round after round. All
 * that protection needs is what StarPU needs: data is registered, and tasks say what they access.
 *
 *   ./01_vector [ROUNDS]                                                 plain
 *   starpu-tic run -- ./01_vector                                        protected
 *   STARPU_TIC_EVERY=50 STARPU_TIC_FAIL=task-end:500 \
 *       starpu-tic run -- ./01_vector                                    killed after 500 tasks
 *   starpu-tic run -- ./01_vector                                        resumed */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 16384, PARTS = 8 };

static void scale(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_VECTOR_GET_PTR(buffers[0]), factor;
    unsigned length = STARPU_VECTOR_GET_NX(buffers[0]);

    starpu_codelet_unpack_args(arg, &factor);
    for (unsigned i = 0; i < length; i++)
        values[i] = values[i] * factor + 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};

static struct starpu_data_filter in_parts = {.filter_func = starpu_vector_filter_block,
                                             .nchildren = PARTS};

int main(int argc, char **argv)
{
    static float vector[LENGTH];
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    starpu_data_handle_t handle;
    double sum = 0;

    for (int i = 0; i < LENGTH; i++)
        vector[i] = (float)i;
    if (starpu_init(NULL) != 0)
        return 77;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)vector, LENGTH,
                                sizeof(vector[0]));
    starpu_data_partition(handle, &in_parts);
    for (int round = 0; round < rounds; round++)
        for (int part = 0; part < PARTS; part++) {
            float factor = 1 / (float)(2 + (round + part) % 3);
            int status =
                starpu_task_insert(&codelet, STARPU_RW, starpu_data_get_sub_data(handle, 1, part),
                                   STARPU_VALUE, &factor, sizeof(factor), 0);
            STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
        }
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle); /* waits for the tasks; from here on the vector is ours again */
    starpu_shutdown();

    for (int i = 0; i < LENGTH; i++)
        sum += vector[i];
    printf("%.17g\n", sum);
    return EXIT_SUCCESS;
}
