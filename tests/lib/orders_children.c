/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about tasks that kernels submit: what only they wrote is kept,
 * and what a restart could not order or repeat ends protection. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/orders.h"

enum { ROUNDS = 2 };
enum { WAITING = 1, NOTIFIED }; /* tags */

static void (*bear)(void); /* what the kernels of this scenario submit; immutable after the start */

static void step_and_bear(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 7;
    bear();
}

static struct starpu_codelet parent_codelet = {
    .cpu_funcs = {step_and_bear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "parent"};

static struct starpu_task *build_parent(void (*children)(void))
{
    bear = children;
    return build(&parent_codelet, handles[0], 0);
}

static void submit_parent(void (*children)(void))
{
    must(starpu_task_submit(build_parent(children)));
}

static void bear_one(void)
{
    submit(&step_codelet, handles[1], 100);
}

/* ---- what children read ---------------------------------------------------------------------- */

static _Atomic bool seen;

static void see(void *buffers[], void *arg)
{
    (void)arg;
    note(*variable(buffers[0]));
    atomic_store(&seen, true);
}

static struct starpu_codelet see_codelet = {
    .cpu_funcs = {see}, .nbuffers = 1, .modes = {STARPU_R}, .name = "see"};

/* The child that writes it is submitted when the one that reads what main() put there has read. */
static void bear_reader(void)
{
    submit(&see_codelet, handles[1], 0);
    while (starpu_cpu_worker_get_count() > 1 && !atomic_load(&seen))
        sched_yield();
    bear_one();
}

static void run_reader(void)
{
    submit_parent(bear_reader);
    starpu_task_wait_for_all();
    submit_row(handles[0], 1);
    starpu_task_wait_for_all();
    submit_row(handles[2], 1);
}

/* ---- what their callbacks submit --------------------------------------------------------------
 */

static void submit_other(void *arg)
{
    (void)arg;
    submit(&step_codelet, handles[3], 3);
}

static void bear_called(void)
{
    struct starpu_task *task = build(&step_codelet, handles[2], 5);

    task->callback_func = submit_other;
    must(starpu_task_submit(task));
}

/* The child waits for what main() holds; main() reads what its callback submits. */
static void run_called(void)
{
    must(starpu_data_acquire(handles[2], STARPU_RW));
    submit_parent(bear_called);
    note(read_value(handles[0]));
    submit_row(handles[4], 1);
    note(read_value(handles[4]));
    starpu_data_release(handles[2]);
    starpu_task_wait_for_all();
    note(read_value(handles[3]));
    submit_row(handles[1], 1);
    note(read_value(handles[1]));
}

/* ---- what only children wrote ---------------------------------------------------------------- */

/* main() gets it back. */
static void run_only_writer(void)
{
    submit_parent(bear_one);
    starpu_task_wait_for_all();
    submit_row(handles[0], 1);
}

/* main() and a task without output read it. */
static void run_only_writer_read(void)
{
    submit_parent(bear_one);
    starpu_task_wait_for_all();
    submit_row(handles[0], 1);
    note(read_value(handles[1]));
    note(read_value(handles[0]));
    submit_row(handles[0], 1);
    note(read_value(handles[1]));
    submit(&look_codelet, handles[1], 0);
}

static starpu_data_handle_t homeless; /* guarded by the order of tasks */

static void bear_homeless(void)
{
    submit(&assign_codelet, homeless, 9);
    submit(&step_codelet, homeless, 1);
}

/* It has no home: tasks and main() read and change it. */
static void run_only_writer_homeless(void)
{
    homeless = register_homeless();
    submit_parent(bear_homeless);
    starpu_task_wait_for_all();
    submit_row(handles[0], 1);
    submit_pair(&join_codelet, handles[0], homeless);
    submit(&look_codelet, homeless, 0);
    note(read_value(homeless));
    submit(&step_codelet, homeless, 1);
    note(read_value(homeless));
    starpu_data_unregister(homeless);
}

/* main() gets it back, changes it and registers it again, each round. */
static void run_registered_again(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_parent(bear_one);
        starpu_task_wait_for_all();
        submit_row(handles[0], round);
        starpu_data_unregister(handles[1]);
        note(values[1]);
        values[1] += (uint64_t)round;
        starpu_variable_data_register(&handles[1], STARPU_MAIN_RAM, (uintptr_t)&values[1],
                                      sizeof(values[1]));
    }
}

static void submit_last(void *arg)
{
    (void)arg;
    submit(&step_codelet, handles[2], 50);
}

static void bear_with_callback(void)
{
    submit_called(handles[1], submit_last, NULL);
}

/* A callback of a child submits between tasks of main(). */
static void run_callback(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_parent(bear_with_callback);
        starpu_task_wait_for_all();
        submit_row(handles[0], round);
        submit(&step_codelet, handles[2], round);
        starpu_task_wait_for_all();
    }
}

/* ---- children with more than a restart repeats ----------------------------------------------- */

static void bear_with_prologue(void)
{
    struct starpu_task *task;

    submit_row(handles[1], 0);
    task = build(&step_codelet, handles[1], 100);
    task->prologue_callback_func = submit_last;
    must(starpu_task_submit(task));
}

/* A child's prologue submits. */
static void run_prologue(void)
{
    submit_parent(bear_with_prologue);
    starpu_task_wait_for_all();
    submit_row(handles[1], 50);
}

struct packed {
    char number;
    uint64_t *place;
} __attribute__((packed));

static void add_to_place(void *buffers[], void *arg)
{
    struct packed packed;

    starpu_codelet_unpack_args(arg, &packed);
    *variable(buffers[0]) += (uint64_t)packed.number;
    note(*packed.place);
}

static struct starpu_codelet place_codelet = {
    .cpu_funcs = {add_to_place}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "place"};

static void bear_with_pointer(void)
{
    static uint64_t place = 9;
    struct packed packed = {3, &place};

    submit_row(handles[1], 0);
    must(starpu_task_insert(&place_codelet, STARPU_RW, handles[1], STARPU_VALUE, &packed,
                            sizeof(packed), 0));
}

/* A child's arguments have a pointer at an odd place. */
static void run_pointer(void)
{
    submit_parent(bear_with_pointer);
    starpu_task_wait_for_all();
    submit_row(handles[1], 50);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void bear_bare(void)
{
    struct starpu_task *task = starpu_task_create();

    task->callback_func = do_nothing;
    must(starpu_task_submit(task));
    submit_row(handles[1], 0);
}

/* A child has a callback, and no kernel. */
static void run_bare(void)
{
    submit_parent(bear_bare);
    starpu_task_wait_for_all();
    submit_row(handles[1], 50);
}

static void submit_tagged(struct starpu_task *task, starpu_tag_t tag)
{
    task->use_tag = 1;
    task->tag_id = tag;
    task->sequential_consistency = 0;
    must(starpu_task_submit(task));
}

static void bear_by_tags(void)
{
    starpu_tag_declare_deps(WAITING, 1, (starpu_tag_t)NOTIFIED);
    submit_tagged(build_pair(&join_codelet, handles[1], handles[2]), WAITING);
    submit_row(handles[3], 0);
    submit_tagged(build(&step_codelet, handles[2], 100), NOTIFIED);
}

/* The kernel orders its children by tags alone. */
static void run_tags_of_children(void)
{
    submit_parent(bear_by_tags);
}

static uint64_t returned;

static void step_and_return(void *buffers[], void *arg)
{
    *variable(buffers[0]) += 3;
    *(uint64_t *)arg += *variable(buffers[0]);
}

static struct starpu_codelet returning_codelet = {
    .cpu_funcs = {step_and_return}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "returning"};

static void bear_returning(void)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &returning_codelet;
    task->handles[0] = handles[1];
    task->cl_arg = &returned;
    task->cl_arg_size = sizeof(returned);
    must(starpu_task_submit(task));
}

/* The child returns something in its arguments, which are main()'s. */
static void run_returning(void)
{
    submit_parent(bear_returning);
    starpu_task_wait_for_all();
    note(returned);
    submit_row(handles[2], 1);
}

const struct mode orders_children[] = {{"children-reader", run_reader},
                                       {"children-called", run_called},
                                       {"children-only", run_only_writer},
                                       {"children-only-read", run_only_writer_read},
                                       {"children-only-homeless", run_only_writer_homeless},
                                       {"children-registered-again", run_registered_again},
                                       {"children-callback", run_callback},
                                       {"children-prologue", run_prologue},
                                       {"children-pointer", run_pointer},
                                       {"children-by-tags", run_tags_of_children},
                                       {"children-bare", run_bare},
                                       {"children-returning", run_returning},
                                       {NULL, NULL}};
