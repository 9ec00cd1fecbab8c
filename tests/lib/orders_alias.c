/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about one memory that is registered twice: what goes by one
 * handle is seen by the other. */
#include <semaphore.h>
#include <stdbool.h>

#include "lib/orders.h"

enum { ROUNDS = 4, AGAIN = 40 };

static void step_in_turn(starpu_data_handle_t one, starpu_data_handle_t other)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit(&step_codelet, one, round);
        starpu_task_wait_for_all();
        submit(&step_codelet, other, round);
        starpu_task_wait_for_all();
    }
}

/* main() changes the memory while neither is registered. */
static void run_alias_changed(void)
{
    starpu_data_handle_t one = register_shared(), other = register_shared();

    step_in_turn(one, other);
    starpu_data_unregister(one);
    starpu_data_unregister(other);
    shared += 5;
    one = register_shared();
    other = register_shared();
    step_in_turn(one, other);
    starpu_data_unregister(other);
    starpu_data_unregister(one);
    note(shared);
}

/* main() changes the memory while one of them is registered. */
static void run_alias_half(void)
{
    starpu_data_handle_t one = register_shared(), other = register_shared();

    step_in_turn(one, other);
    starpu_data_unregister(one);
    shared += 5;
    one = register_shared();
    step_in_turn(one, other);
    starpu_data_unregister(other);
    starpu_data_unregister(one);
    note(shared);
}

/* main() reads by both, and registers a third when the first has gone. */
static void run_alias_replaced(void)
{
    starpu_data_handle_t one = register_shared(), other = register_shared(), third;

    step_in_turn(one, other);
    note(read_value(other));
    note(read_value(one));
    starpu_data_unregister(one);
    note(shared);
    third = register_shared();
    submit(&step_codelet, third, 3);
    starpu_task_wait_for_all();
    starpu_data_unregister(other);
    note(shared);
    submit(&step_codelet, third, 1);
    starpu_data_unregister(third);
    note(shared);
}

static void tell(void *semaphore)
{
    must(sem_post(semaphore));
}

/* Given back while a task without output reads it; main() registers the memory again when it has
 * been told that this has ended. */
static void register_again(bool by_callback)
{
    static sem_t told;

    must(sem_init(&told, 0, 0));
    for (int round = 0; round < AGAIN; round++) {
        starpu_data_handle_t one = register_shared(), other;
        submit(&step_codelet, one, round);
        submit(&look_codelet, one, round);
        submit(&step_codelet, one, round + 1);
        struct starpu_task *last = build(&look_codelet, one, round);
        last->callback_func = by_callback ? tell : NULL;
        last->callback_arg = &told;
        must(starpu_task_submit(last));
        starpu_data_unregister_submit(one);
        if (by_callback)
            sem_wait(&told);
        else
            starpu_task_wait_for_all();
        other = register_shared();
        submit(&step_codelet, other, round);
        submit(&look_codelet, other, round);
        starpu_data_unregister(other);
    }
    note(shared);
}

static void run_alias_left(void)
{
    register_again(false);
}

static void run_alias_left_told(void)
{
    register_again(true);
}

/* ---- it leaves while tasks are still to read it ----------------------------------------------
 */

static void look_late(void *buffers[], void *arg)
{
    (void)arg;
    count(*variable(buffers[0]));
}

static struct starpu_codelet look_late_codelet = {
    .cpu_funcs = {look_late}, .nbuffers = 2, .modes = {STARPU_R, STARPU_R}, .name = "look_late"};

/* main() registers the memory again before they have begun. */
static void run_alias_leaving(void)
{
    for (int round = 0; round < AGAIN; round++) {
        starpu_data_handle_t handle = register_shared();
        submit(&step_codelet, handle, round);
        starpu_task_wait_for_all();
        submit(&step_late_codelet, handles[0], round);
        submit(&step_codelet, handles[1], round); /* when it has ended a line is taken */
        for (int again = 0; again < ROUNDS; again++) {
            submit_pair(&look_late_codelet, handle, handles[0]);
            starpu_data_unregister_submit(handle);
            handle = register_shared();
        }
        starpu_task_wait_for_all();
        starpu_data_unregister(handle);
    }
    note(shared);
}

/* The memory is that of other data, too: protection has main() wait there until they have ended. */
static void run_alias_waits(void)
{
    starpu_data_handle_t other = register_shared();

    for (int round = 0; round < AGAIN; round++) {
        starpu_data_handle_t handle = register_shared();
        submit(&step_codelet, handle, round);
        starpu_task_wait_for_all();
        submit(&step_late_codelet, handles[0], round);
        submit(&step_codelet, handles[1], round);
        submit_pair(&look_late_codelet, handle, handles[0]);
        starpu_data_unregister_submit(handle);
        starpu_task_wait_for_all();
    }
    starpu_data_unregister(other);
    note(shared);
}

const struct mode orders_alias[] = {
    {"alias-changed", run_alias_changed},     {"alias-half", run_alias_half},
    {"alias-replaced", run_alias_replaced},   {"alias-left", run_alias_left},
    {"alias-left-told", run_alias_left_told}, {"alias-leaving", run_alias_leaving},
    {"alias-waits", run_alias_waits},         {NULL, NULL}};
