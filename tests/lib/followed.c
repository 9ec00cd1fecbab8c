/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program with a registered variable that holds an address, which its tasks follow; for
 * crash tests: followed MODE. Prints what the tasks have computed.
 *   object      an object of the heap, which tasks change: all declare to read and write the
 *               variable, and have callbacks, so that nothing is seen in a wait of main()
 *   registered  an array that is registered, too, and that tasks declare to write
 *   read        an object of the heap, which tasks read, as they declare for the variable
 *   constant    a constant of the program
 *   given       tasks that only write the variable put the same address there */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 120, LENGTH = 64 };

struct object {
    long count;
    long *sums; /* an array of its own */
};

static const char *mode;
static long array[LENGTH];
static const long constant[2] = {3, 5};
static void *target;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void must(int status)
{
    if (status != 0)
        exit(3);
}

static struct object *make_object(void)
{
    struct object *object = calloc(1, sizeof(*object));

    must(object && (object->sums = calloc(LENGTH, sizeof(long))) ? 0 : 1);
    object->count = 1;
    return object;
}

static long follow(void *address, long number)
{
    struct object *object = address;

    if (is("constant"))
        return ((const long *)address)[number % 2];
    if (is("object"))
        object->sums[number % LENGTH] += number * ++object->count;
    return is("object") || is("read") ? object->count : number;
}

static void step(void *buffers[], void *arg)
{
    void **variable = (void **)STARPU_VARIABLE_GET_PTR(buffers[0]);
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[1]), number;

    starpu_codelet_unpack_args(arg, &number);
    if (is("given"))
        *variable = target;
    for (long i = 0; i < LENGTH; i++)
        values[i] = values[i] * 31 + follow(*variable, number);
}

static void called_for_nothing(void *arg)
{
    (void)arg;
}

static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}, .name = "step"};

int main(int argc, char **argv)
{
    struct object *object = make_object();
    void *address;
    starpu_data_handle_t variable, data;
    long sum = 0;

    mode = argc == 2 ? argv[1] : "";
    target = is("registered") ? (void *)array : is("constant") ? (void *)constant : object;
    address = target;
    if (is("read"))
        step_codelet.modes[0] = STARPU_R;
    if (is("given"))
        step_codelet.modes[0] = STARPU_W;
    must(starpu_init(NULL));
    starpu_variable_data_register(&variable, STARPU_MAIN_RAM, (uintptr_t)&address, sizeof(address));
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)array, LENGTH, sizeof(*array));
    for (long number = 0; number < TASKS; number++)
        must(starpu_task_insert(&step_codelet, step_codelet.modes[0], variable, STARPU_RW, data,
                                STARPU_VALUE, &number, sizeof(number), STARPU_CALLBACK,
                                called_for_nothing, 0));
    must(starpu_task_wait_for_all());
    starpu_data_unregister(variable);
    starpu_data_unregister(data);
    for (long i = 0; i < LENGTH; i++)
        sum = sum * 31 + array[i] + object->sums[i];
    printf("%s %ld %ld\n", mode, sum, object->count);
    starpu_shutdown();
    free(object->sums);
    free(object);
    return 0;
}
