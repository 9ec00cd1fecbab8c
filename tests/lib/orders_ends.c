/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about ends: tasks that end when others have, and programs that
 * end in the middle of their tasks. */
#include <unistd.h>

#include "lib/orders.h"

enum { ROUNDS = 3, OTHERS = 2, BEFORE = 4 };

/* ---- a task ends when others have ended, main() waits for it --------------------------------- */

struct round {
    struct starpu_task *last, *others[OTHERS];
};

static struct round build_round(starpu_data_handle_t one, starpu_data_handle_t other, int number)
{
    struct round round = {build(&step_codelet, handles[0], number),
                          {build(&step_codelet, one, number), build(&step_codelet, other, number)}};

    round.last->destroy = 0;
    round.last->detach = 0;
    starpu_task_declare_end_deps_array(round.last, OTHERS, round.others);
    return round;
}

static void submit_others(const struct round *round)
{
    for (int i = 0; i < OTHERS; i++)
        must(starpu_task_submit(round->others[i]));
}

static void wait_for_last(const struct round *round)
{
    must(starpu_task_wait(round->last));
    starpu_task_destroy(round->last);
}

/* The others come first; a restart skips them. */
static void run_others_first(void)
{
    for (int number = 0; number < ROUNDS; number++) {
        struct round round = build_round(handles[0], handles[1], number);

        submit_others(&round);
        must(starpu_task_submit(round.last));
        wait_for_last(&round);
    }
}

/* The others come later: a checkpoint finds a task that has run and not ended. */
static void run_others_later(void)
{
    for (int number = 0; number < ROUNDS; number++) {
        struct round round = build_round(handles[1], handles[1], number);

        must(starpu_task_submit(round.last));
        submit_others(&round);
        wait_for_last(&round);
    }
}

/* ---- exit while tasks run -------------------------------------------------------------------- */

static void say_and_exit(void *arg)
{
    (void)arg;
    printf("bye\n");
    exit(0);
}

static void exit_kernel(void *buffers[], void *arg)
{
    (void)buffers;
    say_and_exit(arg);
}

static struct starpu_codelet exit_codelet = {
    .cpu_funcs = {exit_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "exit"};
static struct starpu_codelet bare_exit_codelet = {
    .cpu_funcs = {exit_kernel}, .nbuffers = 0, .name = "bare_exit"};

static void submit_before(void)
{
    for (int number = 0; number < BEFORE; number++) {
        submit(&step_codelet, handles[0], number);
        submit(&step_codelet, handles[1], number);
    }
}

static void await_exit(void)
{
    starpu_task_wait_for_all();
    for (;;)
        pause();
}

/* By a kernel, with checkpoints due. */
static void run_exit_kernel(void)
{
    submit_before();
    submit(&exit_codelet, handles[0], 0);
    await_exit();
}

/* By the kernel of a task without data. */
static void run_exit_bare(void)
{
    submit_before();
    starpu_task_wait_for_all();
    must(starpu_task_insert(&bare_exit_codelet, 0));
    await_exit();
}

/* By a callback. */
static void run_exit_callback(void)
{
    submit_before();
    submit_called(handles[0], say_and_exit, NULL);
    await_exit();
}

const struct mode orders_ends[] = {
    {"end-others-first", run_others_first}, {"end-others-later", run_others_later},
    {"exit-kernel", run_exit_kernel},       {"exit-bare", run_exit_bare},
    {"exit-callback", run_exit_callback},   {NULL, NULL}};
