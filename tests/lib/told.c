/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that do what a restart cannot give back, and that a message tells of:
 * told exposed|packed|moved|blind|left|addresses|callback|declared|number. Each prints a sum.
 * `declared` does none of it; nor does `number`, whose tasks get a number in the place of their
 * arguments. */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1024, ROUNDS = 6 };

static long values[LENGTH];
static _Atomic long sum;

static void add_one(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] += 1;
}

static void add_number(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);

    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] += (long)(intptr_t)arg;
}

static void add_nonzeros(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_CSR_GET_NZVAL(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_CSR_GET_NNZ(buffers[0]); i++)
        at[i] += 1;
}

static void read_all(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    for (unsigned i = 0; i < LENGTH; i++)
        sum += values[i];
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_one"};
static struct starpu_codelet number_codelet = {
    .cpu_funcs = {add_number}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_number"};
static struct starpu_codelet nonzeros_codelet = {
    .cpu_funcs = {add_nonzeros}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_nonzeros"};
static struct starpu_codelet read_codelet = {
    .cpu_funcs = {read_all}, .nbuffers = 0, .name = "read_all"};

static void must(int status)
{
    if (status != 0)
        abort();
}

/* A pointer that main() keeps when its access is over, to memory of StarPU. */
static void run_exposed(void)
{
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, -1, 0, LENGTH, sizeof(long));
    must(starpu_data_acquire(data, STARPU_W));
    long *at = (long *)starpu_vector_get_local_ptr(data);
    memset(at, 0, sizeof(values));
    starpu_data_release(data);
    for (int i = 0; i < ROUNDS; i++) {
        must(starpu_task_insert(&add_codelet, STARPU_RW, data, 0));
        starpu_task_wait_for_all();
        sum += at[i];
    }
    starpu_data_unregister(data);
}

static int (*real_unpack)(starpu_data_handle_t, unsigned, void *, size_t);

/* As an interface that drops a leading dimension. */
static int unpack_elsewhere(starpu_data_handle_t data, unsigned node, void *bytes, size_t size)
{
    struct starpu_csr_interface *csr = starpu_data_get_interface_on_node(data, node);
    int status = real_unpack(data, node, bytes, size);

    csr->firstentry++;
    return status;
}

/* moved: where unpack_data changes the interface */
static void run_packed(int moved)
{
    static uint32_t columns[ROUNDS], rows[2] = {0, ROUNDS};
    starpu_data_handle_t data;

    starpu_csr_data_register(&data, STARPU_MAIN_RAM, ROUNDS, 1, (uintptr_t)values, columns, rows, 0,
                             sizeof(long));
    if (moved) {
        real_unpack = starpu_data_get_interface_ops(data)->unpack_data;
        starpu_data_get_interface_ops(data)->unpack_data = unpack_elsewhere;
    }
    for (int i = 0; i < ROUNDS; i++) {
        must(starpu_task_insert(&nonzeros_codelet, STARPU_RW, data, 0));
        starpu_task_wait_for_all();
        sum += values[i];
    }
    starpu_data_unregister(data);
}

/* blind: a task without data reads it; left: main() reads it when it is unregistered. */
static void run_vector(int blind, int left)
{
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH, sizeof(long));
    for (int i = 0; i < ROUNDS; i++)
        must(starpu_task_insert(&add_codelet, STARPU_RW, data, 0));
    starpu_task_wait_for_all();
    if (blind)
        must(starpu_task_insert(&read_codelet, 0));
    starpu_task_wait_for_all();
    if (left)
        starpu_data_unregister_no_coherency(data);
    else
        starpu_data_unregister(data);
    sum += values[LENGTH - 1];
}

static void run_number(void)
{
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH, sizeof(long));
    for (intptr_t i = 0; i < 10 * ROUNDS; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &number_codelet;
        task->handles[0] = data;
        task->cl_arg = (void *)i;
        task->cl_arg_size = sizeof(i);
        must(starpu_task_submit(task));
    }
    starpu_data_unregister(data);
    sum += values[LENGTH - 1];
}

static long norm;

static void read_norm(void *arg)
{
    (void)arg;
    sum += norm;
}

/* The callback of the second task reads what only the first one declares. */
static void run_callback(void)
{
    starpu_data_handle_t data, single;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, 8, sizeof(long));
    starpu_vector_data_register(&single, STARPU_MAIN_RAM, (uintptr_t)&norm, 1, sizeof(long));
    for (int i = 0; i < ROUNDS; i++) {
        must(starpu_task_insert(&add_codelet, STARPU_RW, single, 0));
        starpu_task_wait_for_all();
        must(starpu_task_insert(&add_codelet, STARPU_RW, data, STARPU_CALLBACK, read_norm, 0));
        starpu_task_wait_for_all();
    }
    starpu_data_unregister(single);
    starpu_data_unregister(data);
}

static void link_up(void *buffers[], void *arg)
{
    void **at = (void **)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    /* Nobody frees it. The first page after a multiple of 4 GiB, where the C library has memory of
     * one thread in 64, looks like two small numbers: it is not told of. */
    at[LENGTH / 4] = (char *)malloc(8192) + 4096;
    sum += at[LENGTH / 4] != NULL;
}

static struct starpu_codelet link_codelet = {
    .cpu_funcs = {link_up}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "link_up"};

static void run_addresses(void)
{
    starpu_data_handle_t data;

    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH, sizeof(long));
    must(starpu_task_insert(&link_codelet, STARPU_RW, data, 0));
    starpu_data_unregister(data);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (starpu_init(NULL) != 0)
        return 77;
    if (strcmp(what, "exposed") == 0)
        run_exposed();
    else if (strcmp(what, "packed") == 0)
        run_packed(0);
    else if (strcmp(what, "moved") == 0)
        run_packed(1);
    else if (strcmp(what, "addresses") == 0)
        run_addresses();
    else if (strcmp(what, "callback") == 0)
        run_callback();
    else if (strcmp(what, "number") == 0)
        run_number();
    else
        run_vector(strcmp(what, "blind") == 0, strcmp(what, "left") == 0);
    starpu_shutdown();
    printf("%ld\n", sum);
    return 0;
}
