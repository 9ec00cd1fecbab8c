/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that use memory which they have never set, for tests of starpu-tic check; the
 * argument names one: stack (registers such an array of a function), heap (of malloc), kernel (a
 * task writes what it finds on its stack), fails (ends by abort() where such memory is not 0); or
 * nameless: a codelet has no name, but a model with one. Arrays are large: in most runs all of them
 * is 0, and nothing of them is printed. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8192 };

static int copies; /* of what is on the stack */

/* The compiler shall not know that nobody has set it. */
static long *unset(long *array)
{
    __asm__ volatile("" : "+r"(array) : : "memory");
    return array;
}

static void count(void *buffers[], void *arg)
{
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[0]), own[LENGTH / 8];

    (void)arg;
    if (copies)
        memcpy(values, unset(own), sizeof(own));
    values[0]++;
}

static void look_at(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count"};
static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "a_model"};
static struct starpu_codelet nameless = {
    .cpu_funcs = {look_at}, .nbuffers = 1, .modes = {STARPU_R}, .model = &model};
static int looks;

static void run(long *array)
{
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)array, LENGTH, sizeof(*array));
    if (starpu_task_insert(&codelet, STARPU_RW, data, 0) != 0 ||
        (looks && starpu_task_insert(&nameless, STARPU_R, data, 0) != 0))
        abort();
    starpu_data_unregister(data);
}

static void run_stack(void)
{
    long array[LENGTH];

    run(unset(array));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    long *array = malloc(LENGTH * sizeof(*array));

    if (!array || starpu_init(NULL) != 0)
        return 77;
    if (strcmp(name, "fails") == 0 && unset(array)[LENGTH / 2] != 0)
        abort();
    copies = strcmp(name, "kernel") == 0;
    looks = strcmp(name, "nameless") == 0;
    if (strcmp(name, "heap") != 0)
        memset(array, 0, LENGTH * sizeof(*array));
    if (strcmp(name, "stack") == 0)
        run_stack();
    else
        run(array);
    starpu_shutdown();
    puts("done");
    free(array);
    return 0;
}
