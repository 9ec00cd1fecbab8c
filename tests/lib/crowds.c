/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program of many small tasks with callbacks: crowds SHAPE TASKS. Every task adds its
 * number to one of a few variables. Shapes:
 *   chain   the callback of each task submits the next one
 *   crowd   main() submits all tasks, each with a callback that counts
 *   looks   main() submits 300 tasks that add to one of so many variables, chosen by what main()
 *           has read
 *   behind  the same, and each task adds to another one, too, which it does not declare
 *   same    as crowd, and each task has a registration of its own of the last variable's memory
 * Prints the sum of the variables and the number of callbacks. */
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 4 };

static starpu_data_handle_t handles[VARIABLES], *same;
static long *behind; /* or NULL */
static _Atomic long called;
static long tasks;

static void add(void *buffers[], void *arg)
{
    long *sum = (long *)STARPU_VARIABLE_GET_PTR(buffers[0]), number;

    starpu_codelet_unpack_args(arg, &number);
    *sum += number;
    if (behind)
        behind[(number + 1) % tasks] += number;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static starpu_data_handle_t handle_of(long number)
{
    return same ? same[number] : handles[number % VARIABLES];
}

static void insert(long number, void (*callback)(void *))
{
    if (starpu_task_insert(&codelet, STARPU_VALUE, &number, sizeof(number), STARPU_RW,
                           handle_of(number), STARPU_CALLBACK_WITH_ARG_NFREE, callback,
                           (void *)number, 0) != 0)
        abort();
}

static void register_same(long *memory)
{
    same = calloc((size_t)tasks, sizeof(*same));
    for (long i = 0; i < tasks; i++)
        starpu_variable_data_register(&same[i], STARPU_MAIN_RAM, (uintptr_t)memory,
                                      sizeof(*memory));
}

static void unregister_same(void)
{
    for (long i = 0; i < tasks; i++)
        starpu_data_unregister(same[i]);
    free(same);
    same = NULL;
}

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&called, 1);
}

static void go_on(void *arg)
{
    long number = (long)arg + 1;

    count(NULL);
    if (number < tasks)
        insert(number, go_on);
}

/* main() reads what one of many small data holds, after each task, and goes by that. */
static int look(bool hidden)
{
    enum { WAITS = 300 };
    long *all = calloc((size_t)tasks, sizeof(*all)), seen = 1;

    behind = hidden ? all : NULL;
    same = calloc((size_t)tasks, sizeof(*same));
    for (long i = 0; i < tasks; i++)
        starpu_variable_data_register(&same[i], STARPU_MAIN_RAM, (uintptr_t)&all[i], sizeof(*all));
    for (long i = 0; i < WAITS; i++) {
        long number = seen * 7919 % tasks;
        insert(number, count);
        starpu_task_wait_for_all();
        seen = (seen * 31 + all[number] + all[(number + 1) % tasks] + i) % 1000003;
    }
    unregister_same();
    printf("%ld %ld\n", seen, atomic_load(&called));
    free(all);
    starpu_shutdown();
    return 0;
}

int main(int argc, char *argv[])
{
    long sums[VARIABLES] = {0}, sum = 0;

    if (argc != 3 || starpu_init(NULL) != 0)
        return 77;
    tasks = atol(argv[2]);
    for (int i = 0; i < VARIABLES; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&sums[i],
                                      sizeof(sums[i]));
    if (strcmp(argv[1], "looks") == 0 || strcmp(argv[1], "behind") == 0)
        return look(argv[1][0] == 'b');
    if (strcmp(argv[1], "same") == 0)
        register_same(&sums[VARIABLES - 1]);
    if (strcmp(argv[1], "chain") == 0)
        insert(0, go_on);
    else
        for (long i = 0; i < tasks; i++)
            insert(i, count);
    starpu_task_wait_for_all();
    if (same)
        unregister_same();
    for (int i = 0; i < VARIABLES; i++) {
        starpu_data_unregister(handles[i]);
        sum += sums[i];
    }
    printf("%ld %ld\n", sum, atomic_load(&called));
    starpu_shutdown();
    return 0;
}
