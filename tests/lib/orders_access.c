/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about what tasks and main() read, and who comes first. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/orders_items.h"

enum { ROUNDS = 4 };

static void submit_free(struct starpu_task *task)
{
    task->sequential_consistency = 0;
    must(starpu_task_submit(task));
}

/* A reader is submitted before its writer, with declared dependencies instead of consistency. */
static void run_read_first(void)
{
    struct starpu_task *writer = build(&step_codelet, handles[0], 5);
    struct starpu_task *between = build(&step_codelet, handles[1], 5);
    struct starpu_task *reader = build(&look_codelet, handles[0], 0);

    starpu_task_declare_deps_array(reader, 1, &between);
    starpu_task_declare_deps_array(between, 1, &writer);
    submit_free(reader);
    must(starpu_task_submit(between));
    submit_free(writer);
}

/* Data without a home that a task has filled loses sequential consistency; main() orders it. */
static void run_free_homeless(void)
{
    starpu_data_handle_t data = register_homeless();

    submit(&assign_codelet, data, 4);
    starpu_task_wait_for_all();
    starpu_data_set_sequential_consistency_flag(data, 0);
    for (int number = 0; number < ROUNDS; number++)
        submit_and_wait(build(&step_codelet, data, number));
    note(read_value(data));
    starpu_data_unregister(data);
}

/* It loses it while tasks are there that come in their order. */
static void run_free_meanwhile(void)
{
    for (int number = 0; number < ROUNDS; number++) {
        struct starpu_task *task = build(&step_codelet, handles[0], number);
        task->priority = number; /* without order the last one would come first */
        submit(&step_codelet, handles[1], number);
        must(starpu_task_submit(task));
    }
    starpu_data_set_sequential_consistency_flag(handles[0], 0);
    submit_row(handles[1], 1);
}

/* main() waits for readers whose structures it keeps. */
static void run_kept_reader(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct starpu_task *reader = build(&look_codelet, handles[0], 0);

        submit(&step_codelet, handles[0], round);
        reader->destroy = 0;
        submit_and_wait(reader);
        starpu_task_destroy(reader);
    }
}

/* main() moves data without a home to its memory node. */
static void run_fetch(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit(&assign_codelet, homeless, 4);
    starpu_task_wait_for_all();
    must(starpu_data_prefetch_on_node(homeless, STARPU_MAIN_RAM, 1));
    must(starpu_data_idle_prefetch_on_node(homeless, STARPU_MAIN_RAM, 1));
    must(starpu_data_fetch_on_node(homeless, STARPU_MAIN_RAM, 0));
    submit_row(homeless, 1);
    note(read_value(homeless));
    starpu_data_unregister(homeless);
}

/* The same, and the data leaves with its last task. */
static void run_fetch_left(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        starpu_data_handle_t homeless = register_homeless();

        submit(&assign_codelet, homeless, round);
        must(starpu_data_prefetch_on_node(homeless, STARPU_MAIN_RAM, 1));
        submit_pair(&join_codelet, handles[0], homeless);
        starpu_data_unregister_submit(homeless);
    }
}

/* main() looks at what tasks have written, without an access. */
static void run_look(void)
{
    for (int i = 0; i < 3; i++)
        submit_row(handles[i], i);
    starpu_task_wait_for_all();
    for (int i = 0; i < 3; i++)
        note(values[i]);
}

/* A task uses the same data twice. */
static void run_same_data(void)
{
    for (int round = 0; round < ROUNDS; round++)
        submit_pair(&join_codelet, handles[0], handles[0]);
}

/* ---- what main() does after a task without output has read ----------------------------------- */

static starpu_data_handle_t submit_reader(void)
{
    starpu_data_handle_t handle = register_shared();

    submit_row(handle, 1);
    submit(&look_codelet, handle, 0);
    return handle;
}

/* It gets the data back. */
static void run_reader_unregister(void)
{
    starpu_data_unregister(submit_reader());
    note(counter);
    submit_row(handles[0], 1);
}

/* Two that were not done by the cut, and data that goes between them. */
static void run_reader_left(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit_row(handles[0], 1);
    submit(&assign_codelet, homeless, 7);
    submit(&look_codelet, homeless, 0);
    starpu_data_unregister_submit(homeless);
    submit(&look_codelet, handles[1], 0);
}

static _Atomic int granted_leaving;

static void count_leaving(void *handle)
{
    count(*(uint64_t *)starpu_data_get_local_ptr(handle));
    starpu_data_release(handle);
    atomic_fetch_add(&granted_leaving, 1);
}

/* Data without a home leaves when one that reads it has ended: a task, or an access with a
 * callback. */
static void run_leaving_read(void)
{
    for (int i = 0; i < 200; i++) {
        starpu_data_handle_t homeless = register_homeless();
        submit(&assign_codelet, homeless, i);
        if (i % 2)
            submit(&look_codelet, homeless, 0);
        else
            must(starpu_data_acquire_cb(homeless, STARPU_R, count_leaving, homeless));
        starpu_data_unregister_submit(homeless);
    }
    while (atomic_load(&granted_leaving) < 100)
        sched_yield();
}

static _Atomic int come_back;

/* main() does not come back while this runs inside its call that asks for the access. */
static void give_back_and_wait(void *number)
{
    enum { MOST_YIELDS = 50 };

    count(*(uint64_t *)starpu_data_get_local_ptr(handles[0]));
    starpu_data_release(handles[0]);
    for (int i = 0; i < MOST_YIELDS && atomic_load(&come_back) <= (int)(intptr_t)number; i++)
        sched_yield();
}

/* main() gets access when a callback has given it back, which goes on then. */
static void run_given_back(void)
{
    for (int i = 0; i < 100; i++) {
        submit_row(handles[0], i);
        must(starpu_data_acquire_cb(handles[0], STARPU_R, give_back_and_wait, (void *)(intptr_t)i));
        must(starpu_data_acquire(handles[0], STARPU_RW));
        note(counter);
        values[0]++;
        atomic_fetch_add(&come_back, 1);
        starpu_data_release(handles[0]);
    }
}

/* It changes the data. */
static void run_reader_acquire(void)
{
    starpu_data_handle_t handle = submit_reader();

    must(starpu_data_acquire(handle, STARPU_RW));
    note(counter);
    shared += 100;
    starpu_data_release(handle);
    submit_row(handle, 1);
    starpu_data_unregister(handle);
    note(shared);
}

/* It waits for a task that changes the data. */
static void run_reader_writer(void)
{
    starpu_data_handle_t handle = submit_reader();

    submit_and_wait(build(&step_codelet, handle, 9));
    note(counter);
    submit_row(handles[0], 1);
    starpu_data_unregister(handle);
    note(shared);
}

/* It reads what a task made of it since. */
static void run_reader_through(void)
{
    starpu_data_handle_t handle = submit_reader(), made = register_homeless();

    submit(&assign_codelet, made, 1);
    submit_pair(&join_codelet, handle, handles[0]);
    submit_pair(&join_codelet, made, handle);
    note(read_value(made));
    note(counter);
    submit_row(made, 1);
    starpu_data_unregister(made);
    starpu_data_unregister(handle);
}

static void tell(void *buffers[], void *arg)
{
    (void)arg;
    note(*variable(buffers[0]) % 1000);
}

/* Several, each of what a task wrote after the one before. */
static void run_reader_again(void)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = {tell}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tell"};

    for (int round = 0; round < 3 * ROUNDS; round++) {
        submit(&step_codelet, handles[0], round);
        must(starpu_task_submit(build(&codelet, handles[0], 0)));
        submit_pair(&join_codelet, handles[1], handles[0]);
    }
}

enum { MANY = 1024 };
static uint64_t many[MANY];
static uint32_t used; /* of these */
static _Atomic bool may_read;

static void tell_late(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    while (!atomic_load(&may_read))
        sched_yield();
    note(many[0] % 1000);
    atomic_store(&may_read, false);
}

/* A prologue may not wait for main() without end. */
static void look_late(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200000 && !atomic_load(&may_read); i++)
        sched_yield();
    note(many[0] % 1000);
    atomic_store(&may_read, false);
}

static void grant(void *arg)
{
    (void)arg;
    atomic_store(&may_read, true);
}

static void note_held(starpu_data_handle_t held)
{
    while (!atomic_load(&may_read))
        sched_yield();
    submit_and_wait(build(&step_codelet, handles[0], 1));
    note(many[0] % 1000);
    atomic_store(&may_read, false);
    starpu_data_release(held);
}

static void step_many(void *buffers[], void *arg)
{
    int number;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &number);
    for (uint32_t i = 0; i < used; i++)
        many[i] = many[i] * 31 + (uint64_t)number;
}

enum reader { TASK, ACCESS, PROLOGUE, READERS };

/* Somebody reads data, which a task behind changes, while main() comes back from a wait. */
static void read_beside(starpu_data_handle_t data, enum reader reader)
{
    static struct starpu_codelet
        step = {.cpu_funcs = {step_many}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_many"},
        tell = {.cpu_funcs = {tell_late}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tell_late"};

    for (int round = 0; round < 2 * ROUNDS; round++) {
        struct starpu_task *behind = build(&step, data, round + 100);
        submit(&step, data, round + 1);
        if (reader == TASK)
            must(starpu_task_submit(build(&tell, data, 0)));
        else if (reader == ACCESS)
            must(starpu_data_acquire_cb(data, STARPU_R, grant, NULL));
        else
            behind->prologue_callback_pop_func = look_late;
        must(starpu_task_submit(behind));
        submit_and_wait(build(&step_codelet, handles[0], round));
        if (reader == ACCESS)
            note_held(data);
        else
            atomic_store(&may_read, true);
        starpu_task_wait_for_all();
        atomic_store(&may_read, false);
    }
}

/* Small data is logged where main() waits, larger data is not. */
static void run_beside(void)
{
    starpu_data_handle_t data;

    for (int i = 0; i < 2 * READERS; i++) {
        used = i < READERS ? MANY : 2;
        starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)many, used, sizeof(many[0]));
        read_beside(data, i % READERS);
        starpu_data_unregister(data);
    }
}

/* A prologue reads data, which its task changes, when main() has gone on, and may have given the
 * data away. */
static void compute(bool leaves)
{
    static struct starpu_codelet step = {
        .cpu_funcs = {step_many}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_many"};
    starpu_data_handle_t data;

    used = MANY;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        struct starpu_task *looking;
        starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)many, used, sizeof(many[0]));
        submit(&step, data, round + 1);
        looking = build(&step, data, round + 100);
        looking->prologue_callback_pop_func = look_late;
        must(starpu_task_submit(looking));
        usleep(2000); /* it has begun, and StarPU may take no other task meanwhile */
        if (leaves)
            starpu_data_unregister_submit(data);
        note(read_value(handles[1]));
        atomic_store(&may_read, true);
        usleep(10000);
        starpu_task_wait_for_all();
        atomic_store(&may_read, false);
        if (!leaves)
            starpu_data_unregister(data);
    }
}

static void run_computing(void)
{
    compute(false);
}

static void run_computing_leaving(void)
{
    compute(true);
}

/* Its interface packs it. */
static void run_beside_packed(void)
{
    static uint32_t columns[MANY], rows[2];
    starpu_data_handle_t data;

    for (int i = 0; i < 2 * READERS; i++) {
        rows[1] = used = i < READERS ? MANY : 2;
        starpu_csr_data_register(&data, STARPU_MAIN_RAM, used, 1, (uintptr_t)many, columns, rows, 0,
                                 sizeof(many[0]));
        read_beside(data, i % READERS);
        starpu_data_unregister(data);
    }
}

/* main() holds what it reads, and changes it before it can. */
static void run_reader_held(void)
{
    starpu_data_handle_t handle = register_shared();

    for (int round = 0; round < ROUNDS; round++) {
        must(starpu_data_acquire(handle, STARPU_RW));
        submit(&look_codelet, handle, 0);
        submit_row(handles[0], round);
        submit_and_wait(build(&step_codelet, handles[0], 9));
        note(counter);
        shared += 100;
        starpu_data_release(handle);
        submit_row(handle, 1);
    }
    starpu_data_unregister(handle);
    note(shared);
}

static void look_packed(void *buffers[], void *arg)
{
    (void)arg;
    count(*(uint64_t *)STARPU_CSR_GET_NZVAL(buffers[0]));
}

/* main() alone writes data that its interface packs, and one that writes nothing reads it before.
 */
static void run_reader_packed(void)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = {look_packed}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_packed"};
    static uint32_t column, rows[2] = {0, 1};
    static uint64_t number;
    starpu_data_handle_t handle;

    starpu_csr_data_register(&handle, STARPU_MAIN_RAM, 1, 1, (uintptr_t)&number, &column, rows, 0,
                             sizeof(number));
    for (int round = 0; round < 3 * ROUNDS; round++) {
        submit(&step_codelet, handles[0], round);
        submit(&codelet, handle, 0);
        must(starpu_data_acquire(handle, STARPU_RW));
        number = number * 31 + 1;
        starpu_data_release(handle);
    }
    starpu_data_unregister(handle);
}

/* main() changes data without a home that tasks wrote, and gives it away; a replay takes lines in
 * between, as readers are executed again. */
static void run_homeless_changed(void)
{
    starpu_data_handle_t homeless = register_homeless();

    submit(&assign_codelet, homeless, 4);
    starpu_task_wait_for_all();
    must(starpu_data_acquire(homeless, STARPU_RW));
    uint64_t *value = starpu_data_get_local_ptr(homeless);
    note(*value);
    *value += 9;
    starpu_data_release(homeless);
    for (int round = 0; round < ROUNDS; round++)
        submit_and_wait(build(&look_codelet, handles[0], 0));
    note(counter);
    starpu_data_unregister(homeless);
    submit_row(handles[0], 1);
}

/* main() goes another way while data is in use, here by a task that waits for what main() holds. */
static void run_try_in_vain(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        must(starpu_data_acquire(handles[5], STARPU_RW));
        submit_pair(&join_codelet, handles[0], handles[5]);
        int busy = starpu_data_acquire_try(handles[0], STARPU_R);
        if (!busy)
            starpu_data_release(handles[0]);
        submit_step(busy ? 1 : 2, round);
        starpu_data_release(handles[5]);
        submit_row(handles[3], round);
    }
}

/* main() tries until it gets what tasks write. */
static void run_try_until(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_row(handles[0], round);
        while (starpu_data_acquire_try(handles[0], STARPU_R) != 0)
            sched_yield();
        note(*(int *)starpu_data_get_local_ptr(handles[0]));
        starpu_data_release(handles[0]);
    }
}

/* Names that a picture must escape, of more tasks than are drawn one by one. */
static void run_odd_names(void)
{
    static struct starpu_codelet codelet;

    codelet = step_codelet;
    codelet.name = "say \"so\" \\ again";
    for (int i = 0; i < 330; i++)
        submit(&codelet, handles[i % 2], i);
}

/* ---- packed bytes -----------------------------------------------------------------------------
 */

static void copy_packed(starpu_data_handle_t to, starpu_data_handle_t from, bool acquires)
{
    void *bytes;
    starpu_ssize_t size;

    must(starpu_data_acquire(from, STARPU_R));
    must(starpu_data_pack(from, &bytes, &size));
    starpu_data_release(from);
    if (acquires)
        must(starpu_data_acquire(to, STARPU_W));
    must(starpu_data_unpack(to, bytes, (size_t)size));
    if (acquires)
        starpu_data_release(to);
}

static void run_unpack(void)
{
    for (int round = 0; round < 2; round++) {
        submit_row(handles[0], 10 * round);
        copy_packed(handles[1], handles[0], true);
        submit_row(handles[1], 10 * round + 5);
        copy_packed(handles[0], handles[1], true);
    }
}

/* Without an access, when no task runs. */
static void run_unpack_only(void)
{
    submit_row(handles[0], 0);
    starpu_task_wait_for_all();
    copy_packed(handles[1], handles[0], false);
    submit_row(handles[1], 5);
}

/* Skipped tasks leave no samples in a performance model. */
static void run_load_model(void)
{
    struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED};

    submit_row(handles[0], 0);
    starpu_task_wait_for_all();
    note(starpu_perfmodel_load_symbol("tic_orders_none", &model) == 0);
    submit_row(handles[1], 5);
}

/* Run with STARPU_LIMIT_CPU_NUMA_MEM=10: what a task has written fills the memory. */
static void run_full(void)
{
    enum { BYTES = 9 << 20 };
    starpu_data_handle_t large;
    void *more = NULL;

    starpu_vector_data_register(&large, -1, 0, BYTES / sizeof(uint64_t), sizeof(uint64_t));
    submit(&clear_items_codelet, large, 0);
    starpu_task_wait_for_all();
    int status = starpu_malloc_flags(&more, BYTES, STARPU_MALLOC_COUNT);
    note(status == 0);
    if (status == 0)
        starpu_free_flags(more, BYTES, STARPU_MALLOC_COUNT);
    submit_row(handles[0], 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(large);
}

static int granted; /* main() only: accesses that came inside the call that asked for them */

static void count_granted(void *handle)
{
    granted++;
    starpu_data_release(handle);
}

/* Nobody uses the data: StarPU grants the access inside the call, and main() goes by that. */
static void run_granted_inside(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_row(handles[0], round);
        must(starpu_data_acquire_cb(handles[1], STARPU_RW, count_granted, handles[1]));
        submit(&step_codelet, handles[0], granted);
    }
    must(granted == ROUNDS ? 0 : -1);
}

const struct mode orders_access[] = {{"unpack", run_unpack},
                                     {"load-model", run_load_model},
                                     {"memory-full", run_full},
                                     {"unpack-only", run_unpack_only},
                                     {"read-first", run_read_first},
                                     {"free-homeless", run_free_homeless},
                                     {"free-meanwhile", run_free_meanwhile},
                                     {"kept-reader", run_kept_reader},
                                     {"reader-unregister", run_reader_unregister},
                                     {"reader-left", run_reader_left},
                                     {"leaving-read", run_leaving_read},
                                     {"given-back", run_given_back},
                                     {"reader-acquire", run_reader_acquire},
                                     {"reader-writer", run_reader_writer},
                                     {"reader-through", run_reader_through},
                                     {"reader-again", run_reader_again},
                                     {"reader-held", run_reader_held},
                                     {"beside", run_beside},
                                     {"beside-packed", run_beside_packed},
                                     {"computing", run_computing},
                                     {"computing-leaving", run_computing_leaving},
                                     {"reader-packed", run_reader_packed},
                                     {"fetch", run_fetch},
                                     {"fetch-left", run_fetch_left},
                                     {"look", run_look},
                                     {"same-data", run_same_data},
                                     {"homeless-changed", run_homeless_changed},
                                     {"odd-names", run_odd_names},
                                     {"try-in-vain", run_try_in_vain},
                                     {"try-until", run_try_until},
                                     {"granted-inside", run_granted_inside},
                                     {NULL, NULL}};
