/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Generalized Fibonacci numbers, F(n) = F(n-1) + ... + F(n-ORDER), 1 for n < ORDER, by a task for
 * each call of the recursion: a fork for each term, and a sum. main() submits them all. Below the
 * threshold a task computes serially. Intermediate results have no memory of the program
 * (registered with home node -1), and go as soon as the last task has used them; of these a
 * recovery line holds only what is still needed.
 *
 *   ./05_fib [N [ORDER [THRESHOLD]]]                                     plain
 *   starpu-tic run -- ./05_fib                                           protected
 *   STARPU_TIC_EVERY=30 STARPU_TIC_FAIL=task-end:150 \
 *       starpu-tic run -- ./05_fib                                       killed after 150 tasks
 *   starpu-tic run -- ./05_fib                                           resumed */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TERMS = 6 };

static int threshold = 6;

static uint64_t serial(int n, int order)
{
    uint64_t sum = 0;

    if (n < order)
        return 1;
    for (int i = 1; i <= order; i++)
        sum += serial(n - i, order);
    return sum;
}

static void compute(void *buffers[], void *arg)
{
    int n, order;

    starpu_codelet_unpack_args(arg, &n, &order);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = serial(n, order);
}

static void add(void *buffers[], void *arg)
{
    uint64_t *sum = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    int order;

    starpu_codelet_unpack_args(arg, &order);
    *sum = 0;
    for (int i = 1; i <= order; i++)
        *sum += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[i]);
}

static struct starpu_codelet compute_codelet = {
    .cpu_funcs = {compute}, .nbuffers = 1, .modes = {STARPU_W}, .name = "compute"};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "add"};

static void fork_add(starpu_data_handle_t result, starpu_data_handle_t *terms, int order)
{
    struct starpu_data_descr accesses[MOST_TERMS + 1] = {{.handle = result, .mode = STARPU_W}};
    int status;

    for (int i = 0; i < order; i++)
        accesses[i + 1] = (struct starpu_data_descr){.handle = terms[i], .mode = STARPU_R};
    status = starpu_task_insert(&add_codelet, STARPU_DATA_MODE_ARRAY, accesses, order + 1,
                                STARPU_VALUE, &order, sizeof(order), 0);
    STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
}

static void fork_fib(starpu_data_handle_t result, int n, int order)
{
    starpu_data_handle_t terms[MOST_TERMS];

    if (n < threshold || n < order) {
        int status = starpu_task_insert(&compute_codelet, STARPU_W, result, STARPU_VALUE, &n,
                                        sizeof(n), STARPU_VALUE, &order, sizeof(order), 0);
        STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
        return;
    }
    for (int i = 0; i < order; i++) {
        starpu_variable_data_register(&terms[i], -1, 0, sizeof(uint64_t));
        fork_fib(terms[i], n - i - 1, order);
    }
    fork_add(result, terms, order);
    for (int i = 0; i < order; i++)
        starpu_data_unregister_submit(terms[i]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 16, order = argc > 2 ? atoi(argv[2]) : 2;
    starpu_data_handle_t handle;
    static uint64_t result;

    if (argc > 3)
        threshold = atoi(argv[3]);
    if (order < 2 || order > MOST_TERMS) {
        fprintf(stderr, "ORDER is 2 to %d\n", MOST_TERMS);
        return EXIT_FAILURE;
    }
    if (starpu_init(NULL) != 0)
        return 77;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&result, sizeof(result));
    fork_fib(handle, n, order);
    starpu_data_unregister(handle);
    starpu_shutdown();
    printf("F(%d) = %" PRIu64 "\n", n, result);
    return result == serial(n, order) ? EXIT_SUCCESS : EXIT_FAILURE;
}
