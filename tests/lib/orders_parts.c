/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about parts of a vector: contributions to the whole and to its
 * parts, and parts that only kernels' children write. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "lib/orders_items.h"

enum { ROUNDS = 2, CONTRIBUTIONS = 3 };

static void contribute_to(starpu_data_handle_t handle, struct starpu_codelet *contribution)
{
    for (int number = 1; number <= CONTRIBUTIONS; number++)
        submit(contribution, handle, number);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void alternate(bool automatic, struct starpu_codelet *contribution)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    for (int i = 0; i < PARTS; i++)
        make_items_reducible(parts[i]);
    for (int round = 0; round < ROUNDS; round++) {
        contribute_to(whole, contribution);
        if (!automatic)
            starpu_data_partition_submit(whole, PARTS, parts);
        step_parts();
        for (int i = 0; i < PARTS; i++)
            contribute_to(parts[i], contribution);
        if (!automatic)
            starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        submit(&step_items_codelet, whole, round);
    }
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

/* What the next two must compute: StarPU 1.3 itself sometimes fails when data has reductions and
 * planned parts, so this adds without reductions. */
static void run_added(void)
{
    alternate(false, &add_items_codelet);
}

/* The whole is folded before it is switched to parts, the parts before it is whole again. */
static void run_explicit(void)
{
    alternate(false, &reduce_items_codelet);
}

/* The same where StarPU switches by itself. */
static void run_implicit(void)
{
    alternate(true, &reduce_items_codelet);
}

static void split(void)
{
    starpu_data_partition(whole, &part_filter);
    for (int i = 0; i < PARTS; i++)
        parts[i] = starpu_data_get_sub_data(whole, 1, i);
}

/* Contributions are added to what tasks wrote into the parts of an invalidated whole. */
static void run_gathered(void)
{
    open_whole();
    submit(&step_items_codelet, whole, 1);
    starpu_data_invalidate(whole);
    split();
    for (int i = 0; i < PARTS; i++)
        must(starpu_task_insert(&clear_items_codelet, STARPU_W, parts[i], 0));
    step_parts();
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    contribute_to(whole, &reduce_items_codelet);
    submit(&step_items_codelet, whole, 1);
    close_whole();
}

static void note_whole(void)
{
    must(starpu_data_acquire(whole, STARPU_R));
    const uint64_t *own = starpu_data_get_local_ptr(whole);
    for (int i = 0; i < ITEMS; i++)
        note(own[i]);
    starpu_data_release(whole);
}

/* StarPU has the memory of the whole, and may put it elsewhere when it is invalidated. At first
 * nobody has written it when it is partitioned. */
static void run_homeless(void)
{
    starpu_vector_data_register(&whole, -1, 0, ITEMS, sizeof(items[0]));
    for (int round = 0; round < ROUNDS + 1; round++) {
        split();
        for (int i = 0; i < PARTS && round != 1; i++)
            must(starpu_task_insert(&clear_items_codelet, STARPU_W, parts[i], 0));
        step_parts();
        step_parts();
        starpu_data_unpartition(whole, STARPU_MAIN_RAM);
        submit(&step_items_codelet, whole, round);
        note_whole();
        if (round == 1)
            starpu_data_invalidate(whole);
    }
    starpu_data_unregister(whole);
}

/* ---- kernels' children ----------------------------------------------------------------------- */

static void bear_steps(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) += (uint64_t)number;
    step_parts();
}

static struct starpu_codelet bear_steps_codelet = {
    .cpu_funcs = {bear_steps}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "bear_steps"};

static void bear_and_go_on(void)
{
    submit(&bear_steps_codelet, handles[0], 7);
    starpu_task_wait_for_all();
    submit_row(handles[0], 0);
    starpu_task_wait_for_all();
}

/* What only children wrote into parts is in the whole. */
static void run_children(void)
{
    open_whole();
    split();
    bear_and_go_on();
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    submit_row(handles[0], 9);
    close_whole();
}

/* The same with planned parts. */
static void run_children_planned(void)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    starpu_data_partition_submit(whole, PARTS, parts);
    bear_and_go_on();
    starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
    submit(&step_items_codelet, whole, 1);
    submit_row(handles[0], 9);
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

/* ---- readers -----------------------------------------------------------------------------------
 */

static void look_items(void *buffers[], void *arg)
{
    (void)arg;
    note(*(uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]));
}

static struct starpu_codelet look_items_codelet = {
    .cpu_funcs = {look_items}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_items"};

static void join_items(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]) += *variable(buffers[1]);
}

static struct starpu_codelet join_items_codelet = {
    .cpu_funcs = {join_items}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "join_items"};

/* A task reads what main() put into one part, while a task that writes another, submitted before,
 * has not run. */
static void run_read_early(void)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    starpu_data_partition_submit(whole, PARTS, parts);
    must(starpu_data_acquire(handles[0], STARPU_RW));
    submit_pair(&join_items_codelet, parts[0], handles[0]);
    submit_and_wait(build(&look_items_codelet, parts[1], 0));
    starpu_data_release(handles[0]);
    step_parts();
    submit_row(handles[1], 0);
    starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

static void look_both(void *buffers[], void *arg)
{
    (void)arg;
    count(((uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]))[0] * 31 + *variable(buffers[1]));
}

/* A part is given up, and planned anew, while a task that reads it waits for main(); recovery lines
 * come meanwhile. */
static void run_cleaned(void)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {look_both},
                                            .nbuffers = 2,
                                            .modes = {STARPU_R, STARPU_R},
                                            .name = "look_both"};

    open_whole();
    submit(&step_items_codelet, whole, 1);
    for (int round = 0; round < ROUNDS; round++) {
        must(starpu_data_acquire(handles[0], STARPU_RW));
        starpu_data_partition_plan(whole, &part_filter, parts);
        starpu_data_partition_submit(whole, PARTS, parts);
        submit_pair(&codelet, parts[1], handles[0]);
        starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        starpu_data_partition_clean(whole, PARTS, parts);
        starpu_data_partition_plan(whole, &part_filter, parts);
        for (int i = 0; i < 4; i++)
            submit_and_wait(build(&step_codelet, handles[1], i));
        values[0] += 10;
        starpu_data_release(handles[0]);
        starpu_data_partition_clean(whole, PARTS, parts);
        submit(&step_items_codelet, whole, 2);
    }
    close_whole();
}

/* The whole leaves while a task is still to read a part. */
static void run_planned_leaving(void)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {look_both},
                                            .nbuffers = 2,
                                            .modes = {STARPU_R, STARPU_R},
                                            .name = "look_both"};

    for (int round = 0; round < LENGTH / 3; round++) {
        open_whole();
        submit(&step_items_codelet, whole, round);
        starpu_data_partition_plan(whole, &part_filter, parts);
        starpu_data_partition_submit(whole, PARTS, parts);
        starpu_task_wait_for_all();
        submit(&step_late_codelet, handles[0], round);
        submit(&step_codelet, handles[1], round); /* when it has ended a line is taken */
        submit_pair(&codelet, parts[1], handles[0]);
        starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        starpu_data_partition_clean(whole, PARTS, parts);
        starpu_data_unregister_submit(whole);
        starpu_task_wait_for_all();
        note(items[ITEMS / 2]);
    }
}

/* A task that is to read the whole waits for another one, while parts of it are read. */
static void run_planned_shared(void)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {look_both},
                                            .nbuffers = 2,
                                            .modes = {STARPU_R, STARPU_R},
                                            .name = "look_both"};

    open_whole();
    for (int round = 0; round < LENGTH / 3; round++) {
        submit(&step_items_codelet, whole, round);
        starpu_task_wait_for_all();
        submit(&step_late_codelet, handles[0], round);
        submit_pair(&codelet, whole, handles[0]);
        starpu_data_partition_plan(whole, &part_filter, parts);
        starpu_data_partition_readonly_submit(whole, PARTS, parts);
        submit_pair(&codelet, parts[1], handles[1]);
        submit(&step_codelet, handles[1], round); /* when it has ended a line is taken */
        starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        starpu_data_partition_clean(whole, PARTS, parts);
    }
    close_whole();
}

static _Atomic int come; /* rounds in which main() has come behind a line */

static void look_behind(void *buffers[], void *arg)
{
    int round;

    starpu_codelet_unpack_args(arg, &round);
    while (come <= round)
        sched_yield();
    look_items(buffers, NULL);
}

/* A line is taken while a task is to read what another one has put into a part; what was
 * partitioned has another value then. */
static void run_reading(void)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = {look_behind}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_behind"};

    open_whole();
    for (int round = 0; round < LENGTH / 3; round++) {
        submit(&step_items_codelet, whole, round);
        submit_and_wait(build(&step_late_codelet, handles[0], round)); /* a line has the whole */
        split();
        submit_and_wait(build(&step_items_codelet, parts[1], round));
        submit(&codelet, parts[1], round);
        submit_and_wait(build(&step_items_codelet, parts[2], round));
        submit_and_wait(build(&step_late_codelet, handles[0], round)); /* a line has a reader */
        come = round + 1;
        starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    }
    close_whole();
}

static int looking, called; /* atomic */

static void note_call(void *arg)
{
    (void)arg;
    __atomic_store_n(&called, 1, __ATOMIC_RELEASE);
}

/* With ORDERS_LATE it reads when the callback of the next task, which is done, has begun. */
static void look_late(void *buffers[], void *arg)
{
    const double end = starpu_timing_now() + 500000; /* us: the callback may not come */

    __atomic_store_n(&looking, 1, __ATOMIC_RELEASE);
    while (getenv("ORDERS_LATE") && !__atomic_load_n(&called, __ATOMIC_ACQUIRE) &&
           starpu_timing_now() < end)
        sched_yield();
    look_items(buffers, arg);
}

static struct starpu_codelet look_late_codelet = {
    .cpu_funcs = {look_late}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_late"};

/* A task reads what main() put there; the next one, which is submitted then, writes it, and its
 * callback may look at that. */
static void read_called(starpu_data_handle_t handle)
{
    submit(&look_late_codelet, handle, 0);
    while (!getenv("ORDERS_LATE") && !__atomic_load_n(&looking, __ATOMIC_ACQUIRE))
        sched_yield();
    struct starpu_task *task = build(&step_items_codelet, handle, 1);
    task->callback_func = note_call;
    must(starpu_task_submit(task));
}

static void run_whole_read_called(void)
{
    open_whole();
    read_called(whole);
    close_whole();
    submit_row(handles[0], 0);
}

/* Nobody can want its last value. */
static void run_lost_read_called(void)
{
    open_whole();
    read_called(whole);
    starpu_task_wait_for_all();
    starpu_data_invalidate(whole);
    starpu_data_unregister_no_coherency(whole);
    submit_row(handles[0], 0);
}

static void run_planned_read_called(void)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    starpu_data_partition_submit(whole, PARTS, parts);
    read_called(parts[1]);
    starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
    submit_row(handles[0], 0);
}

static void give_back(void *part)
{
    starpu_data_release(part);
}

/* main() gets access to a planned part by callback. */
static void run_planned_access(void)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    starpu_data_partition_submit(whole, PARTS, parts);
    step_parts();
    must(starpu_data_acquire_cb(parts[1], STARPU_R, give_back, parts[1]));
    step_parts();
    starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

static _Atomic int given_back;

static void give_back_and_tell(void *handle)
{
    give_back(handle);
    atomic_fetch_add(&given_back, 1);
}

/* main() calls nothing while it waits for an access with a callback, which comes after tasks that
 * only look at parts, and at the whole. */
static void run_planned_spin(void)
{
    enum { MANY = 20 };

    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    for (int round = 0; round < MANY; round++) {
        starpu_data_partition_submit(whole, PARTS, parts);
        step_parts();
        submit(&look_items_codelet, parts[round % PARTS], 0);
        starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        submit(&look_items_codelet, whole, 0);
        submit_row(handles[0], round);
        must(starpu_data_acquire_cb(handles[0], STARPU_R, give_back_and_tell, handles[0]));
        while (atomic_load(&given_back) <= round)
            sched_yield();
    }
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

/* Who looks at the whole waits for who looks at a part, and was submitted before. */
static void run_planned_beside(void)
{
    open_whole();
    starpu_data_partition_plan(whole, &part_filter, parts);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        submit(&step_items_codelet, whole, round);
        struct starpu_task *all = build(&look_items_codelet, whole, 0);
        struct starpu_task *part = build(&look_items_codelet, parts[1], 0);
        starpu_task_declare_deps_array(all, 1, &part);
        must(starpu_task_submit(all));
        starpu_data_partition_readonly_submit(whole, PARTS, parts);
        must(starpu_task_submit(part));
        starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
    }
    starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
}

static void run_read_called(void)
{
    open_whole();
    split();
    read_called(parts[1]);
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    close_whole();
    submit_row(handles[0], 0);
}

/* ---- other input ------------------------------------------------------------------------------
 */

/* Parts are the first that is used of a vector whose content may be another one in a restart. */
static void open_other_input(void)
{
    open_whole();
    for (int i = 0; i < ITEMS && getenv("ORDERS_INPUT"); i++)
        items[i] += (uint64_t)i * strtoull(getenv("ORDERS_INPUT"), NULL, 10);
    split();
}

static void use_other_input(bool look)
{
    open_other_input();
    if (look)
        submit_and_wait(build(&look_items_codelet, parts[1], 0)); /* before any task writes it */
    step_parts();
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    submit(&step_items_codelet, whole, 1);
    submit_row(handles[0], 0);
    close_whole();
}

static void run_input(void)
{
    use_other_input(false);
}

/* A restart executes a task again that reads what was there first. */
static void run_input_read(void)
{
    use_other_input(true);
}

/* Nobody writes what the task reads: the whole holds it. */
static void run_input_kept(void)
{
    open_other_input();
    submit(&look_items_codelet, parts[1], 0);
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    for (int step = 1; step <= LENGTH; step++)
        submit(&step_codelet, handles[1], step);
    starpu_task_wait_for_all();
    submit(&step_items_codelet, whole, 1);
    submit_row(handles[0], 0);
    close_whole();
}

/* Data that no task uses, of another size in a restart. */
static void run_resized(void)
{
    starpu_data_handle_t vector;
    uint32_t count = getenv("ORDERS_INPUT") ? ITEMS / 2 : ITEMS;

    starpu_vector_data_register(&vector, STARPU_MAIN_RAM, (uintptr_t)items, count, sizeof(*items));
    for (int round = 0; round < ROUNDS; round++) {
        must(starpu_data_acquire(vector, STARPU_RW));
        items[0] += (uint64_t)round;
        starpu_data_release(vector);
        submit_row(handles[0], round);
    }
    starpu_data_unregister(vector);
    note(items[0]);
}

static uint64_t looked;

static void look_at_whole(void *arg)
{
    (void)arg;
    for (int i = 0; i < ITEMS; i++)
        looked = looked * 31 + items[i];
}

static void linger(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    usleep(2000); /* lines come meanwhile */
}

/* The callback of a task looks at the whole, which has been divided behind that task. */
static void look_beside_parts(bool planned)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = {linger}, .nbuffers = 1, .modes = {STARPU_R}, .name = "linger"};

    open_whole();
    if (planned)
        starpu_data_partition_plan(whole, &part_filter, parts);
    for (int round = 0; round < 4 * ROUNDS; round++) {
        struct starpu_task *task = build(&step_items_codelet, whole, round);
        task->callback_func = look_at_whole;
        task->destroy = task->detach = 0;
        must(starpu_task_submit(task));
        if (planned)
            starpu_data_partition_submit(whole, PARTS, parts);
        else
            split();
        for (int i = 0; i < PARTS; i++)
            must(starpu_task_insert(&codelet, STARPU_R, parts[i], 0));
        if (planned)
            starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
        else
            starpu_data_unpartition(whole, STARPU_MAIN_RAM);
        must(starpu_task_wait(task));
        starpu_task_destroy(task);
    }
    if (planned)
        starpu_data_partition_clean(whole, PARTS, parts);
    close_whole();
    note(looked);
}

static void run_looked_split(void)
{
    look_beside_parts(false);
}

static void run_looked_planned(void)
{
    look_beside_parts(true);
}

const struct mode orders_parts[] = {{"parts-added", run_added},
                                    {"parts-explicit", run_explicit},
                                    {"parts-implicit", run_implicit},
                                    {"parts-gathered", run_gathered},
                                    {"parts-homeless", run_homeless},
                                    {"parts-children", run_children},
                                    {"parts-children-planned", run_children_planned},
                                    {"parts-read-early", run_read_early},
                                    {"parts-cleaned", run_cleaned},
                                    {"whole-read-called", run_whole_read_called},
                                    {"lost-read-called", run_lost_read_called},
                                    {"planned-read-called", run_planned_read_called},
                                    {"planned-access", run_planned_access},
                                    {"planned-leaving", run_planned_leaving},
                                    {"planned-shared", run_planned_shared},
                                    {"planned-spin", run_planned_spin},
                                    {"planned-beside", run_planned_beside},
                                    {"parts-read-called", run_read_called},
                                    {"parts-input", run_input},
                                    {"parts-input-read", run_input_read},
                                    {"parts-input-kept", run_input_kept},
                                    {"parts-resized", run_resized},
                                    {"parts-reading", run_reading},
                                    {"parts-looked-split", run_looked_split},
                                    {"parts-looked-planned", run_looked_planned},
                                    {NULL, NULL}};
