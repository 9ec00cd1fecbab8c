/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose tasks are submitted by a team of threads (OpenMP's omp single, say): in
 * each round main() or another one submits, which is a race in such programs, and goes by the
 * variable TEAM here. Its result does not depend on that. */
#include <pthread.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 12, DATA = 4, LENGTH = 256 };

static long values[DATA][LENGTH];
static starpu_data_handle_t data[DATA];
static int inside; /* a parallel region; main() changes it while nobody else runs */

/* As OpenMP's, whose library is not needed. */
__attribute__((visibility("default"))) int omp_in_parallel(void);
int omp_in_parallel(void)
{
    return inside;
}

static void must(int status)
{
    if (status != 0)
        abort();
}

static void advance(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] = (at[i] * 31 + number + (long)i) % 1000003;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {advance}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "advance"};

static void *submit_round(void *round)
{
    for (int i = 0; i < 3 * DATA; i++) {
        int number = *(int *)round * 100 + i;
        must(starpu_task_insert(&codelet, STARPU_RW, data[i % DATA], STARPU_VALUE, &number,
                                sizeof(number), 0));
    }
    return NULL;
}

static void run_round(int round, int by_main)
{
    pthread_t other;

    inside = 1;
    if (by_main) {
        submit_round(&round);
    } else {
        must(pthread_create(&other, NULL, submit_round, &round));
        must(pthread_join(other, NULL));
    }
    inside = 0;
    must(starpu_task_wait_for_all());
}

int main(void)
{
    int turn = atoi(getenv("TEAM") ? getenv("TEAM") : "0");
    long sum = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    for (int i = 0; i < DATA; i++)
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)values[i], LENGTH,
                                    sizeof(long));
    for (int round = 0; round < ROUNDS; round++)
        run_round(round, (round + turn) % 2);
    for (int i = 0; i < DATA; i++)
        starpu_data_unregister(data[i]);
    for (int i = 0; i < DATA * LENGTH; i++)
        sum = (sum * 31 + values[i / LENGTH][i % LENGTH]) % 1000003;
    starpu_shutdown();
    printf("%ld\n", sum);
    return 0;
}
