/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c in which callbacks and kernels submit late: main() has submitted
 * more to the same data meanwhile, and theirs comes after it. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/orders.h"

static void submit_step_of(void *handle)
{
    submit(&step_codelet, handle, 100);
}

/* A task waits for what main() holds, its callback comes after a row. */
static void submit_waiting(starpu_data_handle_t held, starpu_data_handle_t chain)
{
    struct starpu_task *task = build_pair(&join_codelet, handles[2], held);

    task->callback_func = submit_step_of;
    task->callback_arg = chain;
    must(starpu_task_submit(task));
    submit_row(chain, 0);
}

/* The task waits for what main() holds. */
static void run_callback(void)
{
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit_waiting(handles[0], handles[1]);
    starpu_data_release(handles[0]);
}

/* The same, and main() reads before and after the callback. */
static void run_callback_read(void)
{
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit_waiting(handles[0], handles[1]);
    note(read_value(handles[1]));
    submit_row(handles[1], 50);
    starpu_data_release(handles[0]);
    starpu_task_wait_for_all();
    note(read_value(handles[1]));
    submit_row(handles[1], 90);
}

/* No task starts while StarPU is paused. */
static void run_paused(void)
{
    starpu_pause();
    submit_called(handles[0], submit_step_of, handles[1]);
    submit_row(handles[1], 0);
    starpu_resume();
}

/* A prologue runs when its task is ready. */
static void run_prologue(void)
{
    starpu_data_handle_t held = handles[0], chain = handles[1];
    struct starpu_task *task = build(&step_codelet, held, 1);

    must(starpu_data_acquire(held, STARPU_RW));
    task->prologue_callback_func = submit_step_of;
    task->prologue_callback_arg = chain;
    must(starpu_task_submit(task));
    submit_row(chain, 0);
    starpu_data_release(held);
    starpu_task_wait_for_all();
    submit_row(chain, 50);
}

static void submit_what_is_read(void *arg)
{
    uint64_t value = *(uint64_t *)starpu_data_get_local_ptr(handles[2]);

    (void)arg;
    starpu_data_release(handles[2]);
    submit(&step_codelet, handles[1], (int)(value % 1000));
}

/* The callback of an access submits after main() has. */
static void run_access(void)
{
    starpu_data_handle_t held = handles[0], read = handles[2];

    submit(&step_codelet, read, 3);
    must(starpu_data_acquire(held, STARPU_RW));
    submit_pair(&join_codelet, read, held);
    must(starpu_data_acquire_cb(read, STARPU_R, submit_what_is_read, NULL));
    submit_row(handles[1], 0);
    starpu_data_release(held);
}

/* ---- children -------------------------------------------------------------------------------- */

static void bear(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) += 7;
    submit_step_of(handles[1]);
}

static struct starpu_codelet parent_codelet = {
    .cpu_funcs = {bear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "parent"};

/* The parent waits for what main() holds. */
static void run_children_held(void)
{
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit(&parent_codelet, handles[0], 0);
    submit_row(handles[1], 0);
    starpu_data_release(handles[0]);
}

/* The parent waits for a tag that main() notifies. */
static void run_children_tag(void)
{
    enum { WAITING = 1, NOTIFIED };
    struct starpu_task *parent = build(&parent_codelet, handles[0], 0);

    parent->use_tag = 1;
    parent->tag_id = WAITING;
    starpu_tag_declare_deps(WAITING, 1, (starpu_tag_t)NOTIFIED);
    must(starpu_task_submit(parent));
    submit_row(handles[1], 0);
    starpu_tag_notify_from_apps(NOTIFIED);
}

/* ---- main() is slow ----------------------------------------------------------------------------
 */

static _Atomic bool submitted, written, born;

static void wait_for(_Atomic bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

static void wait_kernel(void *buffers[], void *arg)
{
    (void)arg;
    wait_for(&written);
    *variable(buffers[0]) += 5;
}

static struct starpu_codelet wait_codelet = {
    .cpu_funcs = {wait_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "wait"};

static void bear_and_tell(void *buffers[], void *arg)
{
    bear(buffers, arg);
    atomic_store(&born, true);
}

static struct starpu_codelet telling_codelet = {
    .cpu_funcs = {bear_and_tell}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "parent"};

/* With one worker main() writes before the parent runs; with ORDERS_SLOW, after. */
static void run_children_slow(void)
{
    starpu_data_handle_t own;
    uint64_t value = 3;

    starpu_variable_data_register(&own, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    submit(&step_codelet, own, 1);
    starpu_task_wait_for_all();
    submit(&wait_codelet, handles[2], 0);
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit(&telling_codelet, handles[0], 0);
    submit_row(handles[1], 0);
    starpu_data_release(handles[0]);
    if (getenv("ORDERS_SLOW"))
        wait_for(&born);
    must(starpu_data_acquire(own, STARPU_RW));
    note(value);
    value = value * 3 + 1;
    starpu_data_release(own);
    atomic_store(&written, true);
    starpu_data_unregister(own);
    note(value);
}

/* What comes late waits for a task that waits for what main() holds. When that task is done, and
 * main() slow, it may come early. */
static void run_chain(void (*submit_late)(void))
{
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit_pair(&join_codelet, handles[2], handles[0]);
    submit_late();
    if (getenv("ORDERS_SLOW"))
        starpu_task_wait_for_all();
    submit_pair(&join_codelet, handles[1], handles[0]);
    submit_row(handles[1], 0);
    starpu_data_release(handles[0]);
}

static void submit_parent(void)
{
    submit(&parent_codelet, handles[2], 0);
}

static void run_children_chain(void)
{
    run_chain(submit_parent);
}

static void submit_with_callback(void)
{
    submit_called(handles[2], submit_step_of, handles[1]);
}

static void run_callback_chain(void)
{
    run_chain(submit_with_callback);
}

/* ---- callbacks of tasks that have not run ------------------------------------------------------
 */

static void wait_first_kernel(void *buffers[], void *arg)
{
    (void)arg;
    wait_for(&submitted);
    *variable(buffers[0]) += 3;
}

static struct starpu_codelet wait_first_codelet = {
    .cpu_funcs = {wait_first_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "wait_first"};
static struct starpu_codelet nowhere_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_R}, .name = "nowhere"};
static uint64_t effect;

static void bare_kernel(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    wait_for(&written);
    effect = 7;
}

static struct starpu_codelet bare_codelet = {.cpu_funcs = {bare_kernel}, .name = "bare"};

static void note_value(void *value)
{
    note(*(uint64_t *)value);
}

/* A recovery line can be taken once all is submitted and the first task is done; another one
 * waits for main() to go on. */
static void run_not_run(struct starpu_task *second, struct starpu_task *after)
{
    submit(&wait_first_codelet, handles[0], 0);
    submit_row(handles[1], 0);
    must(starpu_task_submit(second));
    if (after)
        must(starpu_task_submit(after));
    submit_row(handles[0], 1);
    atomic_store(&submitted, true);
    atomic_store(&written, true);
}

/* One without a kernel. */
static void run_nowhere(void)
{
    struct starpu_task *task = build(&nowhere_codelet, handles[2], 0);

    task->callback_func = note_value;
    task->callback_arg = &values[2];
    run_not_run(build(&wait_codelet, handles[2], 0), task);
}

/* One without data. */
static void run_bare(void)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &bare_codelet;
    task->callback_func = note_value;
    task->callback_arg = &effect;
    run_not_run(task, NULL);
}

/* ---- what the line knows of kernels that began after the cut -----------------------------------
 */

static _Atomic bool further; /* main() is */
static _Atomic bool reading; /* main() is about to */
static _Atomic unsigned parents_born;

static void wait_born_kernel(void *buffers[], void *arg)
{
    (void)arg;
    if (getenv("ORDERS_FIRST"))
        wait_for(&born);
    *variable(buffers[0]) += 5;
}

static struct starpu_codelet wait_born_codelet = {
    .cpu_funcs = {wait_born_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "wait_born"};

static void wait_reader_kernel(void *buffers[], void *arg)
{
    (void)arg;
    wait_for(&reading);
    *variable(buffers[0]) += 1;
}

static struct starpu_codelet wait_reader_codelet = {
    .cpu_funcs = {wait_reader_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "wait_reader"};

/* In the first run only the first has a child, later than main() was at the cut. */
static void bear_in_turn(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) += 7;
    if (getenv("ORDERS_FIRST"))
        wait_for(number == 0 ? &further : &written);
    submit(&step_codelet, handles[1], number);
    atomic_store(&born, true);
    atomic_fetch_add(&parents_born, 1);
}

static struct starpu_codelet in_turn_codelet = {
    .cpu_funcs = {bear_in_turn}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "in_turn"};

/* One line has its cut at main()'s access; it is complete when the task that waits has ended. In
 * the first run main() goes further before the first child comes; with ORDERS_SLOW, both children
 * come before main() goes further. */
static void run_children_in_turn(void)
{
    submit(&wait_born_codelet, handles[3], 0);
    submit(&wait_reader_codelet, handles[2], 0);
    for (int number = 0; number < 2; number++)
        must(starpu_task_insert(&in_turn_codelet, STARPU_RW, handles[0], STARPU_R, handles[2],
                                STARPU_VALUE, &number, sizeof(number), 0));
    atomic_store(&reading, true);
    note(read_value(handles[2]));
    while (getenv("ORDERS_SLOW") && atomic_load(&parents_born) < 2)
        sched_yield();
    submit_row(handles[4], 0);
    atomic_store(&further, true);
}

/* ---- a reader that main() need not wait for ----------------------------------------------------
 */

static _Atomic bool began;   /* the reader */
static _Atomic bool changed; /* the memory that main() has back */

/* With ORDERS_SLOW, for what may not come: in a restart a task may be held back until main() is
 * further, or main() until the task has ended. */
static void wait_slowly(_Atomic bool *flag)
{
    const double end = starpu_timing_now() + 500000; /* us */

    while (getenv("ORDERS_SLOW") && !atomic_load(flag) && starpu_timing_now() < end)
        sched_yield();
}

static void read_slowly_kernel(void *buffers[], void *arg)
{
    (void)arg;
    atomic_store(&began, true);
    wait_slowly(&changed);
    note(*variable(buffers[0]));
}

static struct starpu_codelet read_slowly_codelet = {.cpu_funcs = {read_slowly_kernel},
                                                    .nbuffers = 2,
                                                    .modes = {STARPU_R, STARPU_R},
                                                    .name = "read_slowly"};

static void read_nothing_kernel(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet read_nothing_codelet = {.cpu_funcs = {read_nothing_kernel},
                                                     .nbuffers = 2,
                                                     .modes = {STARPU_R, STARPU_R},
                                                     .name = "read_nothing"};

static void begin_nothing(void *arg)
{
    (void)arg;
}

/* The prologue of the first task comes when main() has unregistered what the second reads. A
 * restart executes both again: the place of the second is that of the first, too, for which main()
 * must not wait. */
static void run_reader_in_place(void)
{
    static uint64_t lent = 3;
    starpu_data_handle_t handle;

    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&lent, sizeof(lent));
    submit(&step_codelet, handle, 1);
    must(starpu_data_acquire(handles[2], STARPU_RW));
    struct starpu_task *first = build_pair(&read_nothing_codelet, handles[2], handles[1]);
    first->prologue_callback_func = begin_nothing;
    must(starpu_task_submit(first));
    must(starpu_task_submit(build_pair(&read_slowly_codelet, handle, handles[1])));
    submit(&step_codelet, handle, 2);
    wait_slowly(&began);
    starpu_data_unregister(handle);
    lent = 99;
    atomic_store(&changed, true);
    submit_row(handles[0], 0);
    starpu_data_release(handles[2]);
    starpu_task_wait_for_all();
}

/* ---- a callback that ends protection ----------------------------------------------------------
 */

static _Atomic bool submitted; /* what the callback submits */

static void raise_by(void *buffers[], void *arg)
{
    *variable(buffers[0]) = *variable(buffers[0]) * 31 + *(const uint64_t *)arg;
}

static struct starpu_codelet raise_codelet = {
    .cpu_funcs = {raise_by}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "raise"};

/* With ORDERS_FIRST it submits nothing. */
static void submit_alike(void *arg)
{
    static uint64_t number = 7;

    (void)arg;
    atomic_store(&born, true);
    if (getenv("ORDERS_FIRST"))
        wait_for(&written);
    for (int i = 0; i < 2; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &raise_codelet;
        task->handles[0] = handles[1];
        task->cl_arg = &number;
        must(starpu_task_submit(task));
    }
    atomic_store(&submitted, true);
}

/* With ORDERS_SLOW main() goes on when the callback has submitted, which comes after a task that
 * waits for what main() holds. */
static void run_callback_alike(void)
{
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit_pair(&join_codelet, handles[1], handles[0]);
    submit_called(handles[2], submit_alike, NULL);
    wait_for(&born);
    wait_slowly(&submitted);
    submit(&step_codelet, handles[3], 1);
    note(read_value(handles[3]));
    starpu_data_release(handles[0]);
    starpu_task_wait_for_all();
}

/* ---- a kernel without output that goes on ---------------------------------------------------- */

enum { GOES_ON = 6 };            /* rounds */
static _Atomic int seen, let_go; /* the last round in which it has begun; and may end */
static uint64_t found;           /* by that kernel; its callback adds to it */

static void await_round(_Atomic int *round, int number)
{
    while (atomic_load(round) < number)
        usleep(100);
}

static void stay_kernel(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    atomic_store(&seen, number);
    await_round(&let_go, number);
    found = *variable(buffers[0]);
}

static struct starpu_codelet stay_codelet = {
    .cpu_funcs = {stay_kernel}, .nbuffers = 1, .modes = {STARPU_R}, .name = "stay"};

static void see(void *number)
{
    atomic_store(&seen, (int)(intptr_t)number);
}

static void bear_look(void *buffers[], void *arg)
{
    struct starpu_task *task = build(&look_codelet, handles[2], 1);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    task->callback_func = see;
    task->callback_arg = (void *)(intptr_t)number;
    must(starpu_task_submit(task));
    await_round(&let_go, number);
    found = *variable(buffers[0]);
}

static struct starpu_codelet bear_look_codelet = {
    .cpu_funcs = {bear_look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "bear_look"};

/* main() goes on when it sees that the kernel has begun, which ends when main() lets it; tasks that
 * come after it wait. */
static void go_on_beside(struct starpu_task *task, starpu_data_handle_t handle, int number)
{
    must(starpu_task_submit(task));
    submit(&step_codelet, handle, number);
    await_round(&seen, number);
    for (int i = 0; i < 3; i++) {
        submit(&step_codelet, handles[0], i);
        note(read_value(handles[0]));
        usleep(3000);
    }
    atomic_store(&let_go, number);
    starpu_task_wait_for_all();
    note(found);
    note(read_value(handle));
}

static void run_goes_on(void)
{
    for (int number = 1; number <= GOES_ON; number++)
        go_on_beside(build(&stay_codelet, handles[1], number), handles[1], number);
}

static void run_goes_on_homeless(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit(&assign_codelet, homeless, 4);
    for (int number = 1; number <= GOES_ON; number++)
        go_on_beside(build(&stay_codelet, homeless, number), homeless, number);
    starpu_data_unregister(homeless);
}

static void find_more(void *arg)
{
    (void)arg;
    found = found * 3 + 1;
}

/* Others know the task: by a tag, a callback, and a task that waits for it. */
static void run_goes_on_known(void)
{
    for (int number = 1; number <= GOES_ON; number++) {
        struct starpu_task *task = build(&stay_codelet, handles[1], number),
                           *behind = build(&step_codelet, handles[2], number);
        task->use_tag = behind->use_tag = 1;
        task->tag_id = (starpu_tag_t)number;
        task->callback_func = find_more;
        behind->tag_id = (starpu_tag_t)(100 + number);
        starpu_tag_declare_deps(behind->tag_id, 1, task->tag_id);
        must(starpu_task_submit(behind));
        go_on_beside(task, handles[1], number);
        must(starpu_tag_wait((starpu_tag_t)(100 + number)));
        note(read_value(handles[2]));
    }
}

/* main() waits for the callback of a task that the kernel submits. */
static void run_goes_on_child(void)
{
    for (int number = 1; number <= GOES_ON; number++) {
        submit(&step_codelet, handles[2], number);
        go_on_beside(build(&bear_look_codelet, handles[1], number), handles[1], number);
    }
}

/* ---- data that is read, then written, and leaves ----------------------------------------------
 */

static void run_read_leaving(void)
{
    static uint64_t words[LENGTH];

    for (int i = 0; i < LENGTH; i++) {
        starpu_data_handle_t handle;
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&words[i],
                                      sizeof(words[i]));
        submit(&step_codelet, handle, i + 1);
        submit(&look_codelet, handle, i);
        submit(&step_codelet, handle, i + 2);
        starpu_data_unregister_submit(handle);
        starpu_task_wait_for_all();
        note(words[i]);
    }
}

const struct mode orders_late[] = {{"late-callback", run_callback},
                                   {"late-callback-read", run_callback_read},
                                   {"late-paused", run_paused},
                                   {"late-prologue", run_prologue},
                                   {"late-access", run_access},
                                   {"late-children-held", run_children_held},
                                   {"late-children-tag", run_children_tag},
                                   {"late-children-slow", run_children_slow},
                                   {"late-children-chain", run_children_chain},
                                   {"late-callback-chain", run_callback_chain},
                                   {"late-callback-alike", run_callback_alike},
                                   {"late-nowhere", run_nowhere},
                                   {"late-bare", run_bare},
                                   {"late-children-in-turn", run_children_in_turn},
                                   {"late-reader-in-place", run_reader_in_place},
                                   {"late-goes-on", run_goes_on},
                                   {"late-goes-on-homeless", run_goes_on_homeless},
                                   {"late-goes-on-known", run_goes_on_known},
                                   {"late-goes-on-child", run_goes_on_child},
                                   {"read-leaving", run_read_leaving},
                                   {NULL, NULL}};
