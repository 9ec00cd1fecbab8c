/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c in which somebody looks at more than data: callbacks at their
 * tasks, or at what main() has; main() at memory, larger one, too; a library starts StarPU once
 * more. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/orders.h"

enum { TASKS = 20 };

/* ---- callbacks that look at their tasks ----------------------------------------------------- */

static void note_current(void *arg)
{
    (void)arg;
    count(starpu_task_get_current()->tag_id);
}

static void note_own(void *task)
{
    count(((struct starpu_task *)task)->tag_id * 3);
}

static void submit_looking(void (*callback)(void *))
{
    for (int i = 1; i <= TASKS; i++) {
        struct starpu_task *task = build(&step_codelet, handles[0], i);
        task->tag_id = (starpu_tag_t)i; /* not used as a tag */
        task->callback_func = callback;
        task->callback_arg = task;
        must(starpu_task_submit(task));
    }
}

static void run_current(void)
{
    submit_looking(note_current);
}

static void run_own(void)
{
    submit_looking(note_own);
}

/* The structure, with its callback, is submitted again and again. */
static void run_again(void)
{
    struct starpu_task *task = build(&step_codelet, handles[0], 1);

    task->destroy = 0;
    task->tag_id = 1;
    task->callback_func = note_own;
    task->callback_arg = task;
    for (int i = 0; i < 5; i++) {
        must(starpu_task_submit(task));
        submit_row(handles[1], i);
        starpu_task_wait_for_all();
    }
    starpu_task_destroy(task);
}

/* ---- a mutex ----------------------------------------------------------------------------------
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void count_locked(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    count(1);
    pthread_mutex_unlock(&mutex);
}

static void run_mutex(void)
{
    for (int i = 0; i < TASKS; i++) {
        pthread_mutex_lock(&mutex);
        submit_called(handles[0], count_locked, NULL);
        pthread_mutex_unlock(&mutex);
    }
    starpu_task_wait_for_all();
    note(counter); /* all callbacks have returned */
}

/* ---- codelets without a name ------------------------------------------------------------------
 */

static void add_one(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 1;
}

static void add_hundred(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 100;
}

static struct starpu_codelet one_codelet = {
    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet hundred_codelet = {
    .cpu_funcs = {add_hundred}, .nbuffers = 1, .modes = {STARPU_RW}};

static sem_t submitted;

static void submit_nameless(void *codelet)
{
    must(starpu_task_insert(codelet, STARPU_RW, handles[2], 0));
    sem_post(&submitted);
}

/* The callback whose task main() submits first submits last. */
static void run_nameless(void)
{
    struct starpu_task *late = build(&step_codelet, handles[0], 1);

    sem_init(&submitted, 0, 0);
    late->callback_func = submit_nameless;
    late->callback_arg = &hundred_codelet;
    must(starpu_data_acquire(handles[0], STARPU_RW));
    must(starpu_task_submit(late));
    submit_called(handles[1], submit_nameless, &one_codelet);
    sem_wait(&submitted);
    starpu_data_release(handles[0]);
    submit_row(handles[3], 0);
    sem_wait(&submitted);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* main() waits for tasks more than once, and looks in the end. */
static void run_memory(void)
{
    for (int i = 0; i < 4; i++) {
        submit(&assign_codelet, handles[i], i + 1);
        submit_row(handles[i], i);
        starpu_task_wait_for_all();
    }
    for (int i = 0; i < 4; i++)
        note(values[i]);
}

/* It has forgotten a value, and asks for the next one. */
static void run_invalid(void)
{
    for (int i = 0; i < 4; i++) {
        submit(&assign_codelet, handles[0], i + 1);
        starpu_data_invalidate_submit(handles[0]);
        submit(&assign_codelet, handles[0], i + 10);
        submit(&step_codelet, handles[1], i);
        note(read_value(handles[0]));
    }
}

/* ---- addresses in data: others in each run --------------------------------------------------- */

struct parameters {
    uint64_t *table, number;
};

static void use_parameters(void *buffers[], void *arg)
{
    struct parameters *parameters = (struct parameters *)STARPU_VARIABLE_GET_PTR(buffers[1]);

    (void)arg;
    *variable(buffers[0]) = *variable(buffers[0]) * 31 + parameters->table[parameters->number % 2];
}

static void change_parameters(void *buffers[], void *arg)
{
    use_parameters(buffers, arg);
    ((struct parameters *)STARPU_VARIABLE_GET_PTR(buffers[1]))->number++;
}

static void move_parameters(void *buffers[], void *arg)
{
    use_parameters(buffers, arg);
    ((struct parameters *)STARPU_VARIABLE_GET_PTR(buffers[1]))->table++;
}

static struct starpu_codelet use_codelet = {.cpu_funcs = {use_parameters},
                                            .nbuffers = 2,
                                            .modes = {STARPU_RW, STARPU_R},
                                            .name = "use_parameters"};
static struct starpu_codelet change_codelet = {.cpu_funcs = {change_parameters},
                                               .nbuffers = 2,
                                               .modes = {STARPU_RW, STARPU_RW},
                                               .name = "change_parameters"};

static struct starpu_codelet move_codelet = {.cpu_funcs = {move_parameters},
                                             .nbuffers = 2,
                                             .modes = {STARPU_RW, STARPU_RW},
                                             .name = "move_parameters"};

static void use_address(struct starpu_codelet *codelet)
{
    struct parameters *parameters = malloc(sizeof(*parameters));
    starpu_data_handle_t handle;

    uint64_t *table = calloc(TASKS + 2, sizeof(*table));
    *parameters = (struct parameters){table, 0};
    table[1] = 5;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)parameters,
                                  sizeof(*parameters));
    for (int round = 0; round < TASKS; round++) {
        submit_pair(codelet, handles[0], handle);
        starpu_task_wait_for_all();
        note(table[1]);
    }
    starpu_data_unregister(handle);
    note(parameters->number);
    free(table);
    free(parameters);
}

static void run_address(void)
{
    use_address(&use_codelet);
}

static void run_address_written(void)
{
    use_address(&change_codelet);
}

static void run_address_moved(void)
{
    use_address(&move_codelet);
}

/* By main(), in accesses; tasks read it. */
static void run_address_replaced(void)
{
    static uint64_t tables[TASKS][2];
    static struct parameters parameters = {tables[0], 0};
    starpu_data_handle_t handle;

    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&parameters,
                                  sizeof(parameters));
    for (int round = 0; round < TASKS; round++) {
        submit_pair(&use_codelet, handles[0], handle);
        must(starpu_data_acquire(handle, STARPU_RW));
        tables[round][0] = (uint64_t)round;
        parameters.table = tables[round];
        starpu_data_release(handle);
        usleep(1000);
    }
    starpu_data_unregister(handle);
    note(parameters.table == tables[TASKS - 1]);
}

/* By the first task that uses it. */
static void run_address_moved_first(void)
{
    static struct parameters parameters[TASKS];
    static uint64_t table[] = {1, 2, 3};
    starpu_data_handle_t data[TASKS];

    for (int i = 0; i < TASKS; i++) {
        parameters[i] = (struct parameters){table, 0};
        starpu_variable_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)&parameters[i],
                                      sizeof(parameters[i]));
    }
    for (int i = 0; i < TASKS; i++) {
        submit_pair(i == TASKS / 2 ? &move_codelet : &use_codelet, handles[0], data[i]);
        usleep(i == TASKS / 2 ? 50000 : 3000); /* a line is taken here */
    }
    for (int i = 0; i < TASKS; i++) {
        submit_pair(&use_codelet, handles[0], data[i]);
        starpu_data_unregister(data[i]);
    }
}

/* ---- memory that the program uses for something else ------------------------------------------
 */

enum { PIECES = 8192 }; /* more than is searched for addresses */

static struct piece {
    const struct piece *before;
    uint64_t number;
} pieces[PIECES];

/* As if it was given to malloc() before it was registered: addresses of this run are there. */
static void use_again(struct piece *list, uint32_t count, uint64_t first)
{
    starpu_data_handle_t handle;
    const struct piece *last = NULL;

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)list, count, sizeof(*list));
    for (uint64_t i = 0; i < TASKS; i++) {
        list[i] = (struct piece){last, first + i};
        last = &list[i];
        submit(&step_codelet, handles[0], 1);
        starpu_task_wait_for_all();
        for (const struct piece *piece = last; piece; piece = piece->before)
            note(piece->number - first);
    }
    starpu_data_unregister(handle);
}

static void run_given_back(void)
{
    use_again(pieces, PIECES, 0);
}

/* Addresses are searched for in as little. */
static void run_given_back_few(void)
{
    use_again(pieces, TASKS, (uint64_t)getpid());
}

/* ---- the first task that uses data is done before main() goes on -------------------------------
 */

static void subtract(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) -= *variable(buffers[1]);
}

static struct starpu_codelet subtract_codelet = {
    .cpu_funcs = {subtract},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .name = "subtract",
};

/* Of each round, one that the task writes, and one that it only reads. */
static void use_first(uint64_t content)
{
    static uint64_t written[TASKS], read[TASKS];
    starpu_data_handle_t to[TASKS], from[TASKS];

    for (int i = 0; i < TASKS; i++) {
        read[i] = content;
        starpu_variable_data_register(&to[i], STARPU_MAIN_RAM, (uintptr_t)&written[i],
                                      sizeof(written[i]));
        starpu_variable_data_register(&from[i], STARPU_MAIN_RAM, (uintptr_t)&read[i],
                                      sizeof(read[i]));
    }
    for (int i = 0; i < TASKS; i++) {
        submit_pair(&fold_codelet, to[i], from[i]);
        usleep(5000); /* a line is taken here */
    }
    for (int i = 0; i < TASKS; i++) {
        submit_pair(&subtract_codelet, to[i], from[i]);
        starpu_data_unregister(to[i]);
        starpu_data_unregister(from[i]);
        note(written[i] + (uint64_t)i);
    }
}

static void run_first_write(void)
{
    use_first(TASKS);
}

/* No two runs fill it alike. */
static void run_first_read(void)
{
    use_first((uint64_t)getpid());
}

/* ---- larger data, which is not logged ---------------------------------------------------------
 */

enum { MANY = 1000 };

static uint64_t many[MANY];

static void fill_many(void *buffers[], void *arg)
{
    uint64_t *items = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (int i = 0; i < MANY; i++)
        items[i] = items[i] * 3 + (uint64_t)(i + number);
}

static struct starpu_codelet many_codelet = {
    .cpu_funcs = {fill_many},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "fill_many",
};

static starpu_data_handle_t register_many(void)
{
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)many, MANY, sizeof(*many));
    return handle;
}

/* main() computes, waits, reads the result by its pointer, and computes something else. */
static void run_final(void)
{
    starpu_data_handle_t handle = register_many();

    for (int i = 0; i < TASKS; i++)
        submit(&many_codelet, handle, i);
    starpu_task_wait_for_all();
    for (int i = 0; i < MANY; i++)
        note(many[i]);
    for (int i = 0; i < TASKS; i++)
        submit_row(handles[0], i);
    starpu_data_unregister(handle);
    submit_row(handles[1], 0);
}

/* main() reads what it declares to overwrite. */
static void run_writing(void)
{
    starpu_data_handle_t handle = register_many();

    for (int i = 0; i < TASKS; i++) {
        submit(&many_codelet, handle, i);
        must(starpu_data_acquire(handle, STARPU_W));
        note(many[i]);
        many[i] += 7;
        starpu_data_release(handle);
    }
    starpu_data_unregister(handle);
}

/* ---- memory that nobody has initialised -------------------------------------------------------
 */

static void overwrite(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) = (uint64_t)number;
    *variable(buffers[1]) += (uint64_t)number * *variable(buffers[1]);
}

static struct starpu_codelet overwrite_codelet = {
    .cpu_funcs = {overwrite},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_RW},
    .name = "overwrite",
};

/* Its tasks declare to read it. It leaves without its value. */
static void run_halo(void)
{
    static uint64_t halo;

    for (int i = 1; i <= TASKS; i++) {
        starpu_data_handle_t handle;
        halo = (uint64_t)getpid();
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&halo, sizeof(halo));
        must(starpu_task_insert(&overwrite_codelet, STARPU_RW, handle, STARPU_RW, handles[0],
                                STARPU_VALUE, &i, sizeof(i), 0));
        starpu_data_unregister_no_coherency(handle);
    }
}

/* ---- memory that the program cannot write -----------------------------------------------------
 */

static starpu_data_handle_t register_constants(void)
{
    static const uint64_t constants[] = {3, 5, 7};
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)constants, 3,
                                sizeof(*constants));
    return handle;
}

static void add_constants(void *buffers[], void *arg)
{
    const uint64_t *constants = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (int i = 0; i < 3; i++)
        *variable(buffers[0]) = *variable(buffers[0]) * 31 + constants[i];
}

static struct starpu_codelet constants_codelet = {
    .cpu_funcs = {add_constants},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .name = "add_constants",
};

static void run_constants(void)
{
    starpu_data_handle_t constants = register_constants();

    for (int i = 0; i < TASKS; i++) {
        submit_pair(&constants_codelet, handles[0], constants);
        if (i % 4 == 1) {
            must(starpu_data_acquire(constants, STARPU_R));
            starpu_data_release(constants);
        } else if (i % 4 == 3) {
            starpu_data_unregister(constants);
            constants = register_constants();
        }
        if (i % 5 == 4)
            must(starpu_task_wait_for_all());
    }
    starpu_data_unregister(constants);
}

/* ---- times of tasks ---------------------------------------------------------------------------
 */

static void note_times(void *arg)
{
    struct starpu_profiling_task_info *times = starpu_task_get_current()->profiling_info;

    (void)arg;
    count(starpu_timing_timespec_delay_us(&times->start_time, &times->end_time) >= 0);
}

static void run_profiled(void)
{
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    submit_looking(note_times);
    starpu_task_wait_for_all();
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

/* ---- StarPU is started while it runs ----------------------------------------------------------
 */

static void run_nested(void)
{
    submit_row(handles[0], 0);
    must(starpu_init(NULL));
    submit_row(handles[1], 10);
    starpu_shutdown();
    submit_row(handles[0], 20);
    submit_row(handles[1], 30);
    note(read_value(handles[1]));
}

const struct mode orders_looks[] = {{"look-current", run_current},
                                    {"look-own", run_own},
                                    {"look-again", run_again},
                                    {"look-mutex", run_mutex},
                                    {"look-nameless", run_nameless},
                                    {"look-memory", run_memory},
                                    {"look-invalid", run_invalid},
                                    {"look-nested", run_nested},
                                    {"look-given-back", run_given_back},
                                    {"look-given-back-few", run_given_back_few},
                                    {"look-first-write", run_first_write},
                                    {"look-first-read", run_first_read},
                                    {"look-address", run_address},
                                    {"look-address-written", run_address_written},
                                    {"look-address-moved", run_address_moved},
                                    {"look-address-replaced", run_address_replaced},
                                    {"look-address-moved-first", run_address_moved_first},
                                    {"look-final", run_final},
                                    {"look-writing", run_writing},
                                    {"look-profiled", run_profiled},
                                    {"look-halo", run_halo},
                                    {"look-constants", run_constants},
                                    {NULL, NULL}};
