/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose threads start StarPU at the same time, run tasks on data of their own, and
 * shut it down at the same time: starters ROUNDS. Prints a sum per round. With "fork" behind that,
 * each round is of a child process. */
#include <pthread.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, TASKS = 20 };

static pthread_barrier_t barrier;

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void *run(void *arg)
{
    starpu_data_handle_t handle;
    long *sum = arg;

    pthread_barrier_wait(&barrier);
    if (starpu_init(NULL) != 0)
        abort();
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)sum, sizeof(*sum));
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(&codelet, STARPU_RW, handle, 0) != 0)
            abort();
    starpu_data_unregister(handle);
    starpu_shutdown();
    return NULL;
}

static void run_round(void)
{
    pthread_t threads[THREADS];
    long sums[THREADS] = {0}, sum = 0;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
    }
    printf("%ld\n", sum);
    fflush(stdout);
}

static void run_child(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        run_round();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
}

int main(int argc, char *argv[])
{
    bool forks = argc == 3 && strcmp(argv[2], "fork") == 0;

    if (argc != 2 && !forks)
        return 77;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < atoi(argv[1]); round++)
        if (forks)
            run_child();
        else
            run_round();
    return 0;
}
