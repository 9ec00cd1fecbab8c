/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose tasks count somewhere, beside the data that they write; for crash tests:
 * counts MODE. Prints what the data holds, and for most modes what was counted.
 *   variable    in a variable of the program
 *   block       in a block of the heap that a variable points to
 *   argument    in a variable of main(), to which their arguments point
 *   structure   in memory to which a variable leads by structures on the heap
 *   passed      the same, to which their arguments lead
 *   polled      as argument, and main() looks there for their ends, and does not wait in StarPU
 *   called      in a variable, and the last of 40 tasks has a callback, which writes nothing
 *   once        in a variable, by no more than the last of 40 tasks
 *   effects     in a variable, by tasks that write no data: a restart executes them again
 *   callback    in a variable, by callbacks, which a restart calls again
 *   registered  in an array of the program that is registered
 *   returned    in their arguments, which belong to the program and are saved
 *   log         to a stream that a variable points to, as what they do is printed there
 *   mutex       nowhere, but holds a mutex of the program for most of its time
 *   awaited     in a variable, while main() waits in starpu_data_unregister
 *   leaving     in memory that is registered until main() has waited for it (unregister) */
#include <pthread.h>
#include <sched.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 40, PHASES = 3, LENGTH = 64 };

static const char *mode;
static long counted, *block, array[LENGTH], *lent;
static long returned[TASKS * PHASES];
static FILE *log_stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static int leaves(void)
{
    return is("leaving") || is("awaited");
}

static int points(void)
{
    return is("argument") || is("polled") || is("passed");
}

struct node {
    struct node *next;
    long *counted;
};

static struct node *head;

static void must(int status)
{
    if (status != 0)
        exit(3);
}

/* Two nodes; what is counted lies behind the second. */
static struct node *make_nodes(void)
{
    struct node *first = calloc(1, sizeof(*first));

    must(first && (first->next = calloc(1, sizeof(*first))) &&
                 (first->next->counted = calloc(LENGTH, sizeof(long)))
             ? 0
             : 1);
    return first;
}

static long free_nodes(struct node *first)
{
    long sum = *first->next->counted;

    free(first->next->counted);
    free(first->next);
    free(first);
    return sum;
}

static void step(void *buffers[], void *arg)
{
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    long number = 0, *place = NULL;

    if (points())
        starpu_codelet_unpack_args(arg, &number, &place);
    else if (is("returned"))
        ++*(long *)arg;
    else
        starpu_codelet_unpack_args(arg, &number);
    if (is("mutex"))
        pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        values[i] = values[i] * 31 + number;
    if (is("mutex")) {
        usleep(2000); /* a line finds it held */
        pthread_mutex_unlock(&mutex);
    }
    if (is("variable") || is("called") || is("awaited") || (is("once") && number == TASKS - 1))
        __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
    if (is("block"))
        __atomic_add_fetch(block, 1, __ATOMIC_RELAXED);
    if (is("log"))
        fprintf(log_stream, "%ld\n", number);
    if (is("structure"))
        __atomic_add_fetch(head->next->counted, 1, __ATOMIC_RELAXED);
    if (is("passed"))
        __atomic_add_fetch(((struct node *)place)->next->counted, 1, __ATOMIC_RELAXED);
    else if (place)
        __atomic_add_fetch(place, 1, __ATOMIC_RELAXED);
}

static void look(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void called(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void called_for_nothing(void *arg)
{
    (void)arg;
}

static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};

static void submit(starpu_data_handle_t data, long number, long *place)
{
    if (points())
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_VALUE, &number,
                                sizeof(number), STARPU_VALUE, &place, sizeof(place), 0));
    else if (is("returned"))
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_CL_ARGS_NFREE,
                                &returned[number], sizeof(returned[number]), 0));
    else if (is("called") && number % TASKS == TASKS - 1)
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_VALUE, &number,
                                sizeof(number), STARPU_CALLBACK, called_for_nothing, 0));
    else if (is("callback"))
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_VALUE, &number,
                                sizeof(number), STARPU_CALLBACK, called, 0));
    else
        must(starpu_task_insert(&step_codelet, STARPU_RW, data, STARPU_VALUE, &number,
                                sizeof(number), 0));
    if (is("effects"))
        must(starpu_task_insert(&look_codelet, STARPU_R, data, 0));
    while (is("polled") && __atomic_load_n(place, __ATOMIC_RELAXED) <= number)
        sched_yield();
}

int main(int argc, char **argv)
{
    long values[LENGTH] = {0}, own = 0, sum = 0;
    starpu_data_handle_t data;

    mode = argc == 2 ? argv[1] : "";
    block = calloc(LENGTH, sizeof(*block));
    lent = calloc(LENGTH, sizeof(*lent));
    struct node *passed = make_nodes();
    must((log_stream = fopen("/dev/null", "w")) ? 0 : 1);
    head = is("structure") ? make_nodes() : NULL;
    must(starpu_init(NULL));
    long *memory = is("registered") ? array : leaves() ? lent : values;
    for (long phase = 0; phase < PHASES; phase++) {
        if (phase == 0 || leaves())
            starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)memory, LENGTH,
                                        sizeof(*memory));
        for (long i = 0; i < TASKS; i++)
            submit(data, is("once") ? i - (phase < PHASES - 1) : phase * TASKS + i,
                   is("passed") ? (long *)passed : &own);
        if (leaves())
            starpu_data_unregister(data);
        else if (!is("polled"))
            must(starpu_task_wait_for_all());
    }
    if (!leaves())
        starpu_data_unregister(data);
    for (long i = 0; i < LENGTH; i++)
        sum = sum * 31 + memory[i];
    for (long i = 0; i < TASKS * PHASES; i++)
        own += returned[i];
    own += free_nodes(passed);
    if (head)
        own += free_nodes(head);
    printf("%s %ld %ld\n", mode, sum, counted + *block + own);
    starpu_shutdown();
    fclose(log_stream);
    free(block);
    free(lent);
    return 0;
}
