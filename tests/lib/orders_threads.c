/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c in which a second thread does what ends protection: afterwards
 * all must be as without. */
#include <pthread.h>

#include "lib/orders.h"

static void go_on_beside(void *(*other)(void *))
{
    starpu_data_handle_t sums[] = {make_reducible(handles[0]), make_reducible(handles[1])};
    pthread_t thread;

    submit_contributions(sums[0]);
    submit_contributions(sums[1]);
    must(pthread_create(&thread, NULL, other, NULL));
    must(pthread_join(thread, NULL));
    submit_contributions(sums[0]);
    submit(&step_codelet, sums[0], 1);
    submit_contributions(sums[1]);
    note(read_value(sums[1]));
}

static void *register_and_step(void *arg)
{
    starpu_data_handle_t handle = register_homeless();

    submit(&assign_codelet, handle, 7);
    note(read_value(handle));
    starpu_data_unregister(handle);
    return arg;
}

/* Sums are whole where a second thread registers data. */
static void run_thread_registers(void)
{
    go_on_beside(register_and_step);
}

static void *read_sums(void *arg)
{
    submit(&look_codelet, handles[0], 0);
    note(read_value(handles[1]));
    return arg;
}

/* A second thread reads all contributions of before. */
static void run_thread_reads(void)
{
    go_on_beside(read_sums);
}

/* ---- what threads and main() look at --------------------------------------------------------- */

static uint64_t seen;

static void *wait_and_look(void *arg)
{
    submit(&step_codelet, handles[2], 5);
    starpu_task_wait_for_all();
    seen = values[2];
    return arg;
}

/* A second thread reads by a pointer what it has waited for. */
static void run_thread_waits(void)
{
    pthread_t thread;

    for (uint64_t i = 0; i < 4; i++) {
        submit(&step_codelet, handles[0], i);
        must(pthread_create(&thread, NULL, wait_and_look, NULL));
        must(pthread_join(thread, NULL));
        note(seen);
    }
    note(read_value(handles[0]));
}

/* main() asks where data without a home node lies, and reads it there. */
static void run_local_pointer(void)
{
    starpu_data_handle_t handle = register_homeless();

    submit(&assign_codelet, handle, 7);
    for (uint64_t i = 0; i < 4; i++) {
        submit(&step_codelet, handle, i);
        starpu_task_wait_for_all();
        note(*(uint64_t *)starpu_variable_get_local_ptr(handle));
        submit(&step_codelet, handles[0], i);
    }
    note(read_value(handle));
    starpu_data_unregister(handle);
    note(read_value(handles[0]));
}

/* ---- user data ------------------------------------------------------------------------------- */

static void *register_variable(void *handle)
{
    *(starpu_data_handle_t *)handle = register_homeless();
    return NULL;
}

static void set_user_data(starpu_data_handle_t handle, uint64_t *own)
{
    starpu_data_set_user_data(handle, own);
    note(starpu_data_get_user_data(handle) == own);
}

/* User data of what a second thread registered stays the program's own. */
static void run_user_data(void)
{
    uint64_t own[200];
    starpu_data_handle_t handle;
    pthread_t thread;

    for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        own[i] = i + 7;
    submit(&step_codelet, handles[0], 1);
    must(pthread_create(&thread, NULL, register_variable, &handle));
    must(pthread_join(thread, NULL));
    set_user_data(handle, own);
    set_user_data(handle, own + 3);
    for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        note(own[i]);
    submit(&assign_codelet, handle, 3);
    submit(&step_codelet, handle, 1);
    note(read_value(handle));
    starpu_data_unregister(handle);
}

const struct mode orders_threads[] = {
    {"thread-registers", run_thread_registers}, {"thread-reads", run_thread_reads},
    {"thread-user-data", run_user_data},        {"thread-waits", run_thread_waits},
    {"local-pointer", run_local_pointer},       {NULL, NULL}};
