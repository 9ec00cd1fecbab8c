/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose results replace each other, again and again, for the reuse of their rows
 * (snapshot/reuse.h): each round adds to `part`, and `part` to `total`. Every tenth round does
 * something that results after it have to take their place behind in a restart; the argument names
 * it: waits (for all tasks), reads, writes (accesses of main()), holds (main() submits while it
 * holds `total`), sees (a task that writes no data), many (a task with more outputs than a result
 * has), calls (a task with a callback), invalid (`total` is invalidated and written anew), sums
 * (contributions to `total`, each round), parts (one of two vectors, which take turns, is
 * partitioned), gaps (nothing, but arguments have bytes that nobody sets). Prints what it
 * computes. */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 400, EACH = 10, OUTPUTS = 20, CONTRIBUTIONS = 3, ELEMENTS = 600, PARTS = 3 };

static unsigned total = 1, part = 2, outputs[OUTPUTS];
static starpu_data_handle_t total_data, part_data, output_data[OUTPUTS];

static unsigned vectors[2][ELEMENTS];
static starpu_data_handle_t vector_data[2];

static unsigned *variable(void *buffer)
{
    return (unsigned *)STARPU_VARIABLE_GET_PTR(buffer);
}

static void step(void *buffers[], void *arg)
{
    unsigned *value = variable(buffers[0]);

    (void)arg;
    *value = *value * 31 + 7;
}

static void join(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += *variable(buffers[1]) % 1009;
}

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += *variable(buffers[1]);
}

static void copy(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[1]);
}

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = 0;
}

static void see(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void scatter(void *buffers[], void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < OUTPUTS; i++)
        *variable(buffers[i]) += *variable(buffers[OUTPUTS]) % (i + 2);
}

static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};
static struct starpu_codelet join_codelet = {
    .cpu_funcs = {join}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "join"};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "add"};
static struct starpu_codelet copy_codelet = {
    .cpu_funcs = {copy}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "copy"};
static struct starpu_codelet clear_codelet = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
static struct starpu_codelet see_codelet = {
    .cpu_funcs = {see}, .nbuffers = 1, .modes = {STARPU_R}, .name = "see"};
static struct starpu_codelet scatter_codelet = {
    .cpu_funcs = {scatter}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "scatter"};
static struct starpu_codelet contribute_codelet = {
    .cpu_funcs = {join}, .nbuffers = 2, .modes = {STARPU_REDUX, STARPU_R}, .name = "contribute"};

static void must(int status)
{
    if (status != 0)
        abort();
}

/* As a structure of a double and a bool, in memory that was used before: other bytes in each run.
 */
static void submit_gaps(void)
{
    struct timespec now;
    unsigned long *arguments = malloc(2 * sizeof(*arguments));

    clock_gettime(CLOCK_MONOTONIC, &now);
    arguments[0] = 1;
    arguments[1] = (unsigned long)now.tv_nsec << 32 | 1;
    must(starpu_task_insert(&step_codelet, STARPU_RW, part_data, STARPU_CL_ARGS, arguments,
                            2 * sizeof(*arguments), 0));
}

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t to)
{
    must(starpu_task_insert(codelet, STARPU_CODELET_GET_MODE(codelet, 0), to, 0));
}

static void submit_pair(struct starpu_codelet *codelet, starpu_data_handle_t to)
{
    must(starpu_task_insert(codelet, STARPU_CODELET_GET_MODE(codelet, 0), to, STARPU_R, part_data,
                            0));
}

static void submit_scatter(void)
{
    struct starpu_data_descr data[OUTPUTS + 1];

    for (unsigned i = 0; i < OUTPUTS; i++)
        data[i] = (struct starpu_data_descr){output_data[i], STARPU_RW};
    data[OUTPUTS] = (struct starpu_data_descr){total_data, STARPU_R};
    must(starpu_task_insert(&scatter_codelet, STARPU_DATA_MODE_ARRAY, data, OUTPUTS + 1, 0));
}

static void nothing(void *arg)
{
    (void)arg;
}

static void do_between(const char *what)
{
    if (strcmp(what, "waits") == 0)
        must(starpu_task_wait_for_all());
    else if (strcmp(what, "sees") == 0)
        submit(&see_codelet, total_data);
    else if (strcmp(what, "many") == 0)
        submit_scatter();
    else if (strcmp(what, "calls") == 0)
        must(starpu_task_insert(&step_codelet, STARPU_RW, total_data, STARPU_CALLBACK, nothing, 0));
    else if (strcmp(what, "invalid") == 0) {
        starpu_data_invalidate_submit(total_data);
        submit_pair(&copy_codelet, total_data);
    } else if (strcmp(what, "sums") != 0) { /* an access */
        bool writes = strcmp(what, "writes") == 0;
        must(starpu_data_acquire(total_data, writes ? STARPU_RW : STARPU_R));
        total += writes;
        if (strcmp(what, "holds") == 0)
            submit_pair(&join_codelet, total_data);
        starpu_data_release(total_data);
    }
}

static void run(const char *what)
{
    bool sums = strcmp(what, "sums") == 0, gaps = strcmp(what, "gaps") == 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        if (gaps)
            submit_gaps();
        else
            submit(&step_codelet, part_data);
        for (unsigned i = 0; i < CONTRIBUTIONS && sums; i++)
            submit_pair(&contribute_codelet, total_data);
        submit_pair(&join_codelet, total_data);
        if (!gaps && round % EACH == EACH - 1)
            do_between(what);
    }
}

/* ---- two vectors ------------------------------------------------------------------------------
 */

static void turn(void *buffers[], void *arg)
{
    unsigned *at = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] = at[i] * 31 + i;
}

static void fold(void *buffers[], void *arg)
{
    unsigned *at = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const unsigned *from = (const unsigned *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] = at[i] * 5 + from[i];
}

static struct starpu_codelet turn_codelet = {
    .cpu_funcs = {turn}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "turn"};
static struct starpu_codelet fold_codelet = {
    .cpu_funcs = {fold}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};

static void turn_parts(starpu_data_handle_t data)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};

    starpu_data_partition(data, &filter);
    for (unsigned i = 0; i < PARTS; i++)
        submit(&turn_codelet, starpu_data_get_sub_data(data, 1, i));
    starpu_data_unpartition(data, STARPU_MAIN_RAM);
}

static void run_parts(void)
{
    for (unsigned i = 0; i < 2; i++)
        starpu_vector_data_register(&vector_data[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i],
                                    ELEMENTS, sizeof(vectors[i][0]));
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned to = round / 3 % 2;
        if (round % EACH == 0)
            turn_parts(vector_data[to]);
        else if (round % 2)
            submit(&turn_codelet, vector_data[to]);
        else
            must(starpu_task_insert(&fold_codelet, STARPU_RW, vector_data[to], STARPU_R,
                                    vector_data[1 - to], 0));
    }
    for (unsigned i = 0; i < 2; i++)
        starpu_data_unregister(vector_data[i]);
    for (unsigned i = 0; i < ELEMENTS; i++)
        total = total * 31 + vectors[0][i] + vectors[1][i] * 7;
}

static void make(starpu_data_handle_t *data, unsigned *value)
{
    starpu_variable_data_register(data, STARPU_MAIN_RAM, (uintptr_t)value, sizeof(*value));
}

int main(int argc, char **argv)
{
    unsigned sum = 0;

    if (argc != 2 || starpu_init(NULL) != 0)
        return 77;
    make(&total_data, &total);
    make(&part_data, &part);
    for (unsigned i = 0; i < OUTPUTS; i++)
        make(&output_data[i], &outputs[i]);
    starpu_data_set_reduction_methods(total_data, &add_codelet, &clear_codelet);
    if (strcmp(argv[1], "parts") == 0)
        run_parts();
    else
        run(argv[1]);
    starpu_data_unregister(total_data);
    starpu_data_unregister(part_data);
    for (unsigned i = 0; i < OUTPUTS; i++) {
        starpu_data_unregister(output_data[i]);
        sum = sum * 31 + outputs[i];
    }
    printf("%u %u %u\n", total, part, sum);
    starpu_shutdown();
    return 0;
}
