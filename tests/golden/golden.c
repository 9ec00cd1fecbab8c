/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program of the golden stores. It is not changed any more: a store continues only with the
 * program that wrote it. A new version of the store gets another program, or another part of this.
 * golden flow LENGTH: main() submits all tasks on vectors of this length, reads between them, seeds
 * by time(). golden tree LENGTH: kernels and callbacks submit tasks, too.
 * Kernels compute with whole numbers, so the results are the same in every order. */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VECTORS = 4, TURNS = 60, PRIME = 10007 };

static unsigned length;
static double *vectors[VECTORS];
static starpu_data_handle_t handles[VECTORS], total;
static _Atomic unsigned looks; /* by tasks that write no data */

static void add_kernel(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned i = 0; i < length; i++)
        values[i] += i % 3 + 1;
}

static void mix_kernel(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const double *others = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < length; i++)
        values[i] = (double)((long)(3 * values[i] + others[i]) % PRIME);
}

static void sum_kernel(void *buffers[], void *arg)
{
    double *sum = (double *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    const double *values = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < length; i++)
        *sum += values[i];
}

static void look_kernel(void *buffers[], void *arg)
{
    const double *values = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    looks += (unsigned)values[0] % 2 + 1;
}

static void clear_kernel(void *buffers[], void *arg)
{
    (void)arg;
    *(double *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void fold_kernel(void *buffers[], void *arg)
{
    (void)arg;
    *(double *)STARPU_VARIABLE_GET_PTR(buffers[0]) +=
        *(const double *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static struct starpu_codelet add = {
    .cpu_funcs = {add_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};
static struct starpu_codelet mix = {
    .cpu_funcs = {mix_kernel}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};
static struct starpu_codelet sum = {
    .cpu_funcs = {sum_kernel}, .nbuffers = 2, .modes = {STARPU_REDUX, STARPU_R}, .name = "sum"};
static struct starpu_codelet look = {
    .cpu_funcs = {look_kernel}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
static struct starpu_codelet clear = {
    .cpu_funcs = {clear_kernel}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
static struct starpu_codelet fold = {
    .cpu_funcs = {fold_kernel}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t first,
                   starpu_data_handle_t second)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->handles[0] = first;
    if (second)
        task->handles[1] = second;
    if (starpu_task_submit(task) != 0)
        abort();
}

/* What main() reads decides what it submits next. */
static void read_and_decide(unsigned turn)
{
    starpu_data_handle_t handle = handles[turn % VECTORS];

    starpu_data_acquire(handle, STARPU_R);
    bool odd = (long)vectors[turn % VECTORS][length - 1] % 2;
    starpu_data_release(handle);
    if (odd)
        submit(&add, handle, NULL);
}

static void run_flow(void)
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned v = 0; v < VECTORS; v++)
            submit(&add, handles[v], NULL);
        submit(&mix, handles[turn % VECTORS], handles[(turn + 1) % VECTORS]);
        if (turn % 10 == 3)
            submit(&sum, total, handles[turn % VECTORS]);
        if (turn % 10 == 6)
            submit(&look, handles[turn % VECTORS], NULL);
        if (turn % 10 == 9)
            read_and_decide(turn);
    }
}

static void leaf_kernel(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const unsigned *amount = arg;
    for (unsigned i = 0; i < length; i++)
        values[i] += *amount;
}

/* Not static: a store names it so if the program exports its symbols, and by its place if not. */
struct starpu_codelet leaf = {
    .cpu_funcs = {leaf_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "leaf"};

static void submit_leaf(starpu_data_handle_t handle, unsigned amount)
{
    struct starpu_task *task = starpu_task_create();
    unsigned *copy = malloc(sizeof(*copy));

    *copy = amount;
    task->cl = &leaf;
    task->handles[0] = handle;
    task->cl_arg = copy;
    task->cl_arg_size = sizeof(*copy);
    task->cl_arg_free = 1;
    if (starpu_task_submit(task) != 0)
        abort();
}

/* Each task of the root vector has two children, on vectors of their own. */
static void root_kernel(void *buffers[], void *arg)
{
    const unsigned *turn = arg;
    ((double *)STARPU_VECTOR_GET_PTR(buffers[0]))[0] += *turn;
    submit_leaf(handles[1], *turn);
    submit_leaf(handles[2], 2 * *turn);
}

static struct starpu_codelet root = {
    .cpu_funcs = {root_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "root"};

static void call_back(void *arg)
{
    (void)arg;
    submit(&add, handles[3], NULL);
}

static void run_tree(void)
{
    for (unsigned turn = 1; turn <= TURNS; turn++) {
        struct starpu_task *task = starpu_task_create();
        unsigned *copy = malloc(sizeof(*copy));

        *copy = turn;
        task->cl = &root;
        task->handles[0] = handles[0];
        task->cl_arg = copy;
        task->cl_arg_size = sizeof(*copy);
        task->cl_arg_free = 1;
        if (turn % 4 == 0)
            task->callback_func = call_back;
        if (starpu_task_submit(task) != 0)
            abort();
    }
    starpu_task_wait_for_all();
}

int main(int argc, char *argv[])
{
    static double total_value;

    if (argc != 3)
        return 2;
    length = (unsigned)atoi(argv[2]);
    unsigned seed = (unsigned)time(NULL) % 1000;
    if (starpu_init(NULL) != 0)
        return 77;
    for (unsigned v = 0; v < VECTORS; v++) {
        vectors[v] = calloc(length, sizeof(double));
        vectors[v][0] = seed + v;
        starpu_vector_data_register(&handles[v], STARPU_MAIN_RAM, (uintptr_t)vectors[v], length,
                                    sizeof(double));
    }
    starpu_variable_data_register(&total, STARPU_MAIN_RAM, (uintptr_t)&total_value,
                                  sizeof(total_value));
    starpu_data_set_reduction_methods(total, &fold, &clear);
    if (strcmp(argv[1], "flow") == 0)
        run_flow();
    else
        run_tree();
    starpu_data_unregister(total);
    for (unsigned v = 0; v < VECTORS; v++)
        starpu_data_unregister(handles[v]);
    printf("seed %u looks %u total %.0f\n", seed, looks, total_value);
    for (unsigned v = 0; v < VECTORS; v++) {
        double result = 0;
        for (unsigned i = 0; i < length; i++)
            result += vectors[v][i] * (i + 1);
        printf("%.0f\n", result);
        free(vectors[v]);
    }
    starpu_shutdown();
    return 0;
}
