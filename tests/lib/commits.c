/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commit points under a random mixture of what tasks and main() can do between them; and what may
 * not be between them.
 *
 * commits ITERATIONS SEED [WRONG]. WRONG: data, gone, places, tags, hold, address, reduction, free:
 * something that keeps lines from being taken at commit points; idle: no tasks
 * from iteration 50 on; behind: main() writes data by its
 * pointer; lone: it comes to the first one only, and in iteration 150 waits for somebody who reads
 * the file "ready", and for one who writes "go"; lone-late: the same after iteration 100. In the
 * environment: C_SIZE=N, a variable of so many more bytes; C_STATUS=1: what starpu_tic_get_status()
 * tells; C_MORE=1: a task more before the first commit point; C_NEVER=1: no commit point. */
#include <starpu.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "starpu_tic.h"

enum { DATA = 8, LENGTH = 48, PARTS = 4 };

static uint32_t values[DATA][LENGTH];
static uint32_t plan[LENGTH];
static starpu_data_handle_t handles[DATA], homeless, counter, planned, parts[PARTS];
static uint32_t sum; /* the reduction */
static starpu_data_handle_t reduced;

enum { EXTRA = 1 << 16 };
static void *extra; /* a page of its own, for what is wrong */

/* What main() writes and no task does: tasks may read it */
static uint32_t table[LENGTH], sparse[4], columns[4] = {0, 1, 0, 1}, rows[3] = {0, 2, 4};
static starpu_data_handle_t filled, kept, scattered;

/* main()'s own, protected */
static struct {
    int iteration;
    uint32_t random, seen, callbacks;
} own;

static uint32_t next_random(uint32_t limit)
{
    own.random = own.random * 1664525u + 1013904223u;
    return (own.random >> 8) % limit;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void mix(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint32_t *from = (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    uint32_t by;

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = to[i] * 31 + from[i] + by;
}

static void step(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), by = 1;

    if (arg)
        starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = to[i] * 17 + by + i;
}

static void fill(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = i;
}

static void look(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void init(void *buffers[], void *arg)
{
    (void)arg;
    *(uint32_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void fold(void *buffers[], void *arg)
{
    (void)arg;
    *(uint32_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) +=
        *(const uint32_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(uint32_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 3;
}

static struct starpu_codelet mixer = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};
static struct starpu_codelet stepper = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
static struct starpu_codelet filler = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet looker = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
static struct starpu_codelet initer = {
    .cpu_funcs = {init}, .nbuffers = 1, .modes = {STARPU_W}, .name = "init"};
static struct starpu_codelet folder = {
    .cpu_funcs = {fold}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};
static struct starpu_codelet adder = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_REDUX}, .name = "add"};

static void called(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&own.callbacks, 1, __ATOMIC_RELAXED);
}

/* ---- what an iteration may do ---------------------------------------------------------------- */

static void insert_step(starpu_data_handle_t data)
{
    uint32_t by = next_random(100);

    starpu_task_insert(&stepper, STARPU_RW, data, STARPU_VALUE, &by, sizeof(by), 0);
}

static void do_mix(void)
{
    uint32_t a = next_random(DATA), b = (a + 1 + next_random(DATA - 1)) % DATA,
             by = next_random(1000);

    starpu_task_insert(&mixer, STARPU_RW, handles[a], STARPU_R, handles[b], STARPU_VALUE, &by,
                       sizeof(by), 0);
}

static void do_homeless(void)
{
    insert_step(homeless);
    starpu_task_insert(&looker, STARPU_R, homeless, 0);
}

static void do_read(void)
{
    starpu_data_handle_t data = handles[next_random(DATA)];

    starpu_data_acquire(data, STARPU_R);
    own.seen = own.seen * 7 + ((uint32_t *)starpu_vector_get_local_ptr(data))[0];
    starpu_data_release(data);
}

static void do_write(void)
{
    starpu_data_handle_t data = handles[next_random(DATA)];

    starpu_data_acquire(data, STARPU_RW);
    ((uint32_t *)starpu_vector_get_local_ptr(data))[next_random(LENGTH)] += own.seen;
    starpu_data_release(data);
}

static void do_fill(void)
{
    uint32_t by = next_random(10);

    starpu_data_acquire(filled, STARPU_RW);
    table[next_random(LENGTH)] += by;
    starpu_data_release(filled);
    starpu_data_acquire(kept, STARPU_RW);
    ((uint32_t *)starpu_vector_get_local_ptr(kept))[next_random(LENGTH)] += by;
    starpu_data_release(kept);
    starpu_data_acquire(scattered, STARPU_RW);
    sparse[next_random(4)] += by;
    starpu_data_release(scattered);
    starpu_task_insert(&mixer, STARPU_RW, handles[next_random(DATA)], STARPU_R,
                       by % 2 ? kept : filled, STARPU_VALUE, &by, sizeof(by), 0);
}

static void do_callback(void)
{
    starpu_task_insert(&stepper, STARPU_RW, handles[next_random(DATA)], STARPU_CALLBACK, called, 0);
}

static void do_temporary(void)
{
    starpu_data_handle_t data;
    uint32_t by = next_random(10), a = next_random(DATA);

    starpu_vector_data_register(&data, -1, 0, LENGTH, sizeof(uint32_t));
    starpu_task_insert(&filler, STARPU_W, data, 0);
    starpu_task_insert(&mixer, STARPU_RW, handles[a], STARPU_R, data, STARPU_VALUE, &by, sizeof(by),
                       0);
    starpu_data_unregister_submit(data);
}

static void do_given_back(void)
{
    uint32_t memory[LENGTH] = {0};
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)memory, LENGTH,
                                sizeof(uint32_t));
    starpu_task_insert(&filler, STARPU_W, data, 0);
    insert_step(data);
    starpu_data_unregister(data);
    own.seen += memory[next_random(LENGTH)];
}

static void do_partition(void)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};
    starpu_data_handle_t data = handles[next_random(DATA)];

    starpu_data_partition(data, &filter);
    for (unsigned i = 0; i < PARTS; i++)
        insert_step(starpu_data_get_sub_data(data, 1, i));
    starpu_data_unpartition(data, STARPU_MAIN_RAM);
}

static void do_plan(void)
{
    starpu_data_partition_submit(planned, PARTS, parts);
    for (unsigned i = 0; i < PARTS; i++)
        insert_step(parts[i]);
    starpu_data_unpartition_submit(planned, PARTS, parts, -1);
    insert_step(planned);
}

static void do_reduce(void)
{
    uint32_t more = next_random(4);

    for (uint32_t i = 0; i <= more; i++)
        starpu_task_insert(&adder, STARPU_REDUX, reduced, 0);
    starpu_data_acquire(reduced, STARPU_R);
    own.seen += *(uint32_t *)starpu_variable_get_local_ptr(reduced);
    starpu_data_release(reduced);
}

static void do_wait(void)
{
    starpu_task_wait_for_all();
    own.seen += own.callbacks * 3; /* all have run */
}

static void do_time(void)
{
    own.seen += time(NULL) > 0;
}

static void (*const actions[])(void) = {
    do_mix,       do_homeless, do_read,   do_write, do_callback, do_temporary, do_given_back,
    do_partition, do_plan,     do_reduce, do_wait,  do_time,     do_fill};

static void iterate(void)
{
    uint32_t count = 1 + next_random(6);

    while (count-- > 0)
        actions[next_random(sizeof(actions) / sizeof(actions[0]))]();
}

/* ---- what keeps lines from being taken ------------------------------------------------------- */

static void do_wrong(const char *wrong)
{
    static starpu_data_handle_t data;
    static uint32_t memory[LENGTH];

    if (strcmp(wrong, "behind") == 0) {
        starpu_task_wait_for_all();
        values[1][own.iteration % LENGTH] += own.seen;
    }
    if (strcmp(wrong, "data") == 0 && !data) {
        starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)memory, LENGTH,
                                    sizeof(uint32_t));
        starpu_tic_data_set_name(data, "late");
    }
    if (data)
        insert_step(data);
    if (strcmp(wrong, "gone") == 0 && own.iteration == 2)
        starpu_data_unregister(counter);
    if (strcmp(wrong, "reduction") == 0)
        starpu_task_insert(&adder, STARPU_REDUX, reduced, 0);
    if (strncmp(wrong, "lone", 4) == 0 && own.iteration == 150) {
        fclose(fopen("ready", "w"));
        fclose(fopen("go", "r"));
    }
    if (strcmp(wrong, "free") == 0 && own.iteration == 2)
        munmap(extra, EXTRA);
    if (strcmp(wrong, "tags") == 0) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &stepper;
        task->handles[0] = handles[0];
        task->use_tag = 1;
        task->tag_id = (starpu_tag_t)own.iteration + 1;
        if (starpu_task_submit(task) != 0)
            exit(1);
    }
    if (strcmp(wrong, "hold") == 0 && own.iteration == 2)
        starpu_data_acquire(counter, STARPU_R);
}

/* ---- main() ---------------------------------------------------------------------------------- */

static void register_all(void)
{
    static uint32_t count;
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};

    for (unsigned i = 0; i < DATA; i++) {
        for (unsigned k = 0; k < LENGTH; k++)
            values[i][k] = i * k;
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)values[i], LENGTH,
                                    sizeof(uint32_t));
    }
    starpu_vector_data_register(&homeless, -1, 0, LENGTH, sizeof(uint32_t));
    starpu_vector_data_register(&filled, STARPU_MAIN_RAM, (uintptr_t)table, LENGTH,
                                sizeof(uint32_t));
    starpu_vector_data_register(&kept, -1, 0, LENGTH, sizeof(uint32_t));
    starpu_csr_data_register(&scattered, STARPU_MAIN_RAM, 4, 2, (uintptr_t)sparse, columns, rows, 0,
                             sizeof(uint32_t));
    starpu_variable_data_register(&counter, STARPU_MAIN_RAM, (uintptr_t)&count, sizeof(count));
    starpu_variable_data_register(&reduced, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
    starpu_data_set_reduction_methods(reduced, &folder, &initer);
    starpu_vector_data_register(&planned, STARPU_MAIN_RAM, (uintptr_t)plan, LENGTH,
                                sizeof(uint32_t));
    starpu_data_partition_plan(planned, &filter, parts);
}

/* All data is used once, so that no accumulators come later. */
static void begin(void)
{
    starpu_task_insert(&filler, STARPU_W, homeless, 0);
    starpu_data_acquire(kept, STARPU_W);
    memset((void *)starpu_vector_get_local_ptr(kept), 0, LENGTH * sizeof(uint32_t));
    starpu_data_release(kept);
    do_reduce();
    do_plan();
    for (int i = 0; i < 10; i++)
        do_mix();
    if (getenv("C_MORE"))
        do_mix();
}

static void print_status(void)
{
    struct starpu_tic_status status;
    int result = starpu_tic_get_status(&status, sizeof(status));

    fprintf(stderr, "status %d: %d %d lines %d bytes %d age %d period %g \"%s\" \"%s\"\n", result,
            status.is_protected, status.is_suspended, status.lines > 0, status.bytes > 0,
            status.age >= 0, status.period, status.protocol, status.reason);
}

static uint32_t end(const char *wrong)
{
    starpu_task_wait_for_all();
    uint32_t hash = own.seen * 3 + own.random + own.callbacks;
    for (unsigned i = 0; i < DATA; i++)
        starpu_data_unregister(handles[i]);
    starpu_data_acquire(homeless, STARPU_R);
    for (unsigned k = 0; k < LENGTH; k++)
        hash = hash * 33 + ((uint32_t *)starpu_vector_get_local_ptr(homeless))[k];
    starpu_data_release(homeless);
    starpu_data_unregister(homeless);
    starpu_data_acquire(kept, STARPU_R);
    for (unsigned k = 0; k < LENGTH; k++)
        hash = hash * 33 + ((uint32_t *)starpu_vector_get_local_ptr(kept))[k];
    starpu_data_release(kept);
    starpu_data_unregister(kept);
    starpu_data_unregister(filled);
    starpu_data_unregister(scattered);
    for (unsigned k = 0; k < LENGTH; k++)
        hash = hash * 33 + table[k] + sparse[k % 4];
    if (strcmp(wrong, "hold") == 0)
        starpu_data_release(counter);
    if (strcmp(wrong, "gone") != 0)
        starpu_data_unregister(counter);
    starpu_data_unregister(reduced);
    starpu_data_partition_clean(planned, PARTS, parts);
    starpu_data_unregister(planned);
    for (unsigned i = 0; i < DATA; i++)
        for (unsigned k = 0; k < LENGTH; k++)
            hash = hash * 33 + values[i][k];
    for (unsigned k = 0; k < LENGTH; k++)
        hash = hash * 33 + plan[k];
    return hash * 33 + sum;
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 100;
    const char *wrong = argc > 3 ? argv[3] : "", *size = getenv("C_SIZE");
    bool never = getenv("C_NEVER") != NULL;
    void *address = strcmp(wrong, "address") == 0 ? &iterations : NULL;

    own.random = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    if (starpu_init(NULL) != 0)
        return 77;
    register_all();
    starpu_tic_protect_memory("own", &own, sizeof(own));
    if (size)
        starpu_tic_protect_memory("more", values, (size_t)atoi(size));
    if (strcmp(wrong, "free") == 0) {
        static const char constant[] = "constant";
        extra = mmap(NULL, EXTRA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (starpu_tic_protect_memory("extra", extra, EXTRA) != 0 ||
            starpu_tic_protect_memory("constant", (void *)constant, sizeof(constant)) != -EACCES)
            return 1;
    }
    if (address)
        starpu_tic_protect_memory("address", &address, sizeof(address));
    begin();
    for (own.iteration = 0; own.iteration < iterations; own.iteration++) {
        int status = 0;
        bool lone = (strcmp(wrong, "lone") == 0 && own.iteration > 0) ||
                    (strcmp(wrong, "lone-late") == 0 && own.iteration > 100);
        if (strcmp(wrong, "places") == 0 && own.iteration > 0)
            status = starpu_tic_commit_point();
        else if (!never && !lone)
            status = starpu_tic_commit_point();
        if (status == 1)
            fprintf(stderr, "goes on with iteration %d\n", own.iteration);
        if (strcmp(wrong, "idle") != 0 || own.iteration < 50)
            iterate();
        do_wrong(wrong);
    }
    if (getenv("C_STATUS"))
        print_status();
    uint32_t hash = end(wrong);
    printf("%u %u\n", own.callbacks, hash);
    starpu_shutdown();
    return 0;
}
