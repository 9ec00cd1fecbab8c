/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c in which main() holds back tasks by an access, a tag or a pause,
 * and waits for others meanwhile: nothing else may wait for those held back. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/orders.h"

enum { MANY = 4 };

static void commute_and_wait(starpu_data_handle_t handle)
{
    for (int number = 1; number <= MANY; number++)
        submit_and_wait(build(&commute_codelet, handle, number));
}

/* Tasks that commute overtake one that waits for what main() holds. */
static void run_commute(void)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {join},
                                            .nbuffers = 2,
                                            .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_R},
                                            .name = "commute_join"};
    starpu_data_handle_t held = handles[0], to = handles[1];

    must(starpu_data_acquire(held, STARPU_RW));
    submit(&step_codelet, to, 1);
    submit_pair(&codelet, to, held);
    commute_and_wait(to);
    starpu_data_release(held);
}

static void keep(void *arg)
{
    (void)arg;
}

/* The same with what a callback's access holds; main() releases it. */
static void run_commute_callback(void)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {join},
                                            .nbuffers = 2,
                                            .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_RW},
                                            .name = "commute_both"};
    starpu_data_handle_t held = handles[0], to = handles[1];

    submit(&step_codelet, to, 1);
    submit(&step_codelet, held, 1);
    starpu_task_wait_for_all();
    must(starpu_data_acquire_cb(held, STARPU_R, keep, NULL));
    submit_pair(&codelet, to, held);
    commute_and_wait(to);
    starpu_data_release(held);
}

/* starpu_data_unregister_submit does not wait for tasks that wait for a tag of main(). */
static void run_unregister_tag(void)
{
    enum { WAITING = 1, NOTIFIED };
    starpu_data_handle_t temporary = register_homeless();
    struct starpu_task *task = build_pair(&join_codelet, handles[0], temporary);

    submit(&assign_codelet, temporary, 4);
    task->use_tag = 1;
    task->tag_id = WAITING;
    starpu_tag_declare_deps(WAITING, 1, (starpu_tag_t)NOTIFIED);
    must(starpu_task_submit(task));
    starpu_data_unregister_submit(temporary);
    starpu_tag_notify_from_apps(NOTIFIED);
    submit_row(handles[0], 1);
}

/* Nor for tasks that start after a pause. */
static void run_unregister_paused(void)
{
    starpu_data_handle_t temporary = register_homeless();

    starpu_pause();
    submit(&assign_codelet, temporary, 4);
    submit_pair(&join_codelet, handles[0], temporary);
    starpu_data_unregister_submit(temporary);
    starpu_resume();
    submit_row(handles[0], 1);
}

/* main() reads while it reads already. */
static void run_read_twice(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit(&assign_codelet, homeless, 4);
    must(starpu_data_acquire(homeless, STARPU_R));
    note(read_value(homeless));
    submit_row(handles[0], *(int *)starpu_data_get_local_ptr(homeless));
    starpu_data_release(homeless);
    submit(&step_codelet, homeless, 1);
    note(read_value(homeless));
    starpu_data_unregister(homeless);
}

/* main() reads while no task can start. */
static void run_read_paused(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit(&assign_codelet, homeless, 4);
    submit(&step_codelet, homeless, 1);
    starpu_task_wait_for_all();
    starpu_pause();
    for (int i = 0; i < MANY; i++)
        submit_pair(&join_codelet, handles[0], homeless);
    note(read_value(homeless));
    starpu_resume();
    starpu_data_unregister(homeless);
}

/* main() reads, and so do tasks without output that it waits for meanwhile. */
static void hold_and_look(starpu_data_handle_t held)
{
    submit(&assign_codelet, held, 4);
    must(starpu_data_acquire(held, STARPU_R));
    note(*(uint64_t *)starpu_data_get_local_ptr(held));
    for (int i = 0; i < MANY; i++)
        submit_and_wait(build(&look_codelet, held, 1));
    for (int i = 0; i < MANY; i++) {
        submit_row(handles[0], i);
        starpu_task_wait_for_all();
    }
    starpu_data_release(held);
    submit(&step_codelet, held, 1);
    note(read_value(held));
}

static void run_look(void)
{
    starpu_data_handle_t homeless = register_homeless();

    hold_and_look(homeless);
    hold_and_look(handles[1]);
    starpu_data_unregister(homeless);
}

/* main() goes on writing what it holds when it has waited for others. */
static void run_write(void)
{
    uint64_t *value;

    submit(&step_codelet, handles[1], 1);
    must(starpu_data_acquire(handles[1], STARPU_RW));
    value = starpu_data_get_local_ptr(handles[1]);
    for (int i = 0; i < 2 * LENGTH; i++) {
        *value = *value * 31 + (uint64_t)i;
        submit(&step_codelet, handles[0], i);
        starpu_task_wait_for_all();
    }
    starpu_data_release(handles[1]);
    note(read_value(handles[1]));
}

/* ---- what leaves while it is held ------------------------------------------------------------ */

enum { LEAVING = 20 };

static starpu_data_handle_t leaving[LEAVING];
static _Atomic int granted;

static void note_granted(void *arg)
{
    (void)arg;
    atomic_fetch_add(&granted, 1);
}

static void give_back(void *number)
{
    starpu_data_release(leaving[(intptr_t)number]);
}

/* A callback gives back what main() has unregistered, and StarPU is through with it then. */
static void run_leaving(void)
{
    static uint64_t left[LEAVING];

    for (int number = 0; number < LEAVING; number++) {
        starpu_variable_data_register(&leaving[number], STARPU_MAIN_RAM, (uintptr_t)&left[number],
                                      sizeof(left[number]));
        submit(&assign_codelet, leaving[number], number);
        must(starpu_data_acquire_cb(leaving[number], STARPU_R, note_granted, NULL));
        while (atomic_load(&granted) <= number)
            sched_yield();
        submit(&step_codelet, handles[0], number);
        submit(&look_codelet, leaving[number], 0);
        struct starpu_task *task = build(&look_codelet, handles[0], number);
        task->callback_func = give_back;
        task->callback_arg = (void *)(intptr_t)number;
        must(starpu_task_submit(task));
        starpu_data_unregister_submit(leaving[number]);
    }
    starpu_task_wait_for_all();
    for (int number = 0; number < LEAVING; number++)
        note(left[number]);
}

const struct mode orders_held[] = {{"held-commute", run_commute},
                                   {"held-commute-callback", run_commute_callback},
                                   {"held-unregister-tag", run_unregister_tag},
                                   {"held-unregister-paused", run_unregister_paused},
                                   {"held-read-twice", run_read_twice},
                                   {"held-read-paused", run_read_paused},
                                   {"held-look", run_look},
                                   {"held-write", run_write},
                                   {"held-leaving", run_leaving},
                                   {NULL, NULL}};
