/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about callbacks: what they submit comes where it came, and what
 * waits for them goes on. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "lib/orders.h"
#include "starpu_tic.h"

/* Of a run that is preloaded with starpu-tic. */
extern int starpu_tic_get_status(struct starpu_tic_status *status, size_t size)
    __attribute__((weak));

enum { ROUNDS = 4, BURST = 3 };

static void submit_step_of(void *handle)
{
    submit(&step_codelet, handle, 100);
}

/* ---- of tasks that run nowhere --------------------------------------------------------------- */

static struct starpu_codelet nowhere_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_R}, .name = "nowhere"};

static void submit_nowhere_and_wait(void (*callback)(void *))
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &nowhere_codelet;
    task->handles[0] = handles[0];
    task->callback_func = callback;
    task->callback_arg = handles[0];
    must(starpu_task_submit(task));
    starpu_task_wait_for_all();
}

static void submit_nowhere(void)
{
    submit_nowhere_and_wait(submit_step_of);
    submit_row(handles[0], 2);
}

/* The callback runs in a worker, or in main(). */
static void run_nowhere(void)
{
    submit(&step_codelet, handles[0], 1);
    submit_nowhere();
}

/* The callback runs within the submission of its task. */
static void run_nowhere_ready(void)
{
    submit(&step_codelet, handles[0], 1);
    starpu_task_wait_for_all();
    submit_nowhere();
}

static void count_ready(void *arg)
{
    (void)arg;
    count(1);
}

/* The prologue of a task that main() waits for in its submission comes while others are before it.
 */
static void run_prologue_synchronous(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct starpu_task *task = build(&step_codelet, handles[3], round);
        for (int i = 0; i < 3; i++)
            submit(&step_codelet, handles[i], round);
        task->prologue_callback_func = count_ready;
        task->synchronous = 1;
        must(starpu_task_submit(task));
        note(values[3]);
    }
}

static _Atomic int let_go;

/* It reads when main() has come back from its access, and lets a task go then that changes this. */
static void read_and_let_go(void *number)
{
    const int round = (int)(intptr_t)number;

    while (atomic_load(&let_go) <= round)
        usleep(100);
    note(values[0]);
    if (round % 2)
        starpu_tag_notify_from_apps((starpu_tag_t)round);
    else
        submit(&step_codelet, handles[0], round + 100);
    usleep(5000);
}

static void run_let_go(void)
{
    for (int round = 0; round < 12; round++) {
        submit_called(handles[0], read_and_let_go, (void *)(intptr_t)round);
        if (round % 2) {
            struct starpu_task *behind = build(&step_codelet, handles[0], round + 100);
            behind->use_tag = 1;
            behind->tag_id = (starpu_tag_t)(100 + round);
            starpu_tag_declare_deps(behind->tag_id, 1, (starpu_tag_t)round);
            must(starpu_task_submit(behind));
        }
        submit_row(handles[1], round);
        note(read_value(handles[1]));
        atomic_store(&let_go, round + 1);
        usleep(10000); /* lines come while main() computes */
        starpu_task_wait_for_all();
    }
}

static void note_value(void *handle)
{
    note(*(int *)starpu_data_get_local_ptr(handle));
}

/* The callback reads what the task declares. */
static void run_nowhere_reads(void)
{
    submit(&step_codelet, handles[0], 1);
    submit_nowhere_and_wait(note_value);
    submit_row(handles[1], 2);
}

static void submit_bare(void *handle)
{
    struct starpu_task *task = starpu_task_create();

    task->callback_func = submit_step_of;
    task->callback_arg = handle;
    must(starpu_task_submit(task));
}

/* A callback submits a task without a kernel, which has one. */
static void run_bare(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_called(handles[0], submit_bare, handles[1]);
        starpu_task_wait_for_all();
        submit_row(handles[1], round);
    }
}

/* ---- who waits for callbacks ----------------------------------------------------------------- */

static int called; /* atomic */

static void count_call(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&called, 1, __ATOMIC_RELEASE);
}

static void await_calls(int many)
{
    while (__atomic_load_n(&called, __ATOMIC_ACQUIRE) < many)
        sched_yield();
}

/* main() waits for several callbacks, by memory of its own. */
static void run_awaited(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < BURST; i++)
            submit_called(handles[0], count_call, NULL);
        await_calls(round * BURST);
    }
}

static void count_late(void *arg)
{
    (void)arg;
    usleep(3000); /* a cut in here is likely */
    count(1);
}

/* Who has waited for a task finds what its callback has done. */
static void run_waited(void)
{
    for (int i = 0; i < 3 * ROUNDS; i++) {
        struct starpu_task *task = build(&step_codelet, handles[0], i);
        bool stays = i % 3 > 0;
        task->callback_func = count_late;
        task->synchronous = !stays;
        task->destroy = task->detach = !stays;
        if (stays)
            submit_row(handles[1], i); /* they end while the callback runs */
        must(starpu_task_submit(task));
        while (i % 3 == 1 && !starpu_task_finished(task))
            sched_yield();
        if (i % 3 == 2)
            must(starpu_task_wait(task));
        note(counter);
        if (i % 3 == 1)
            must(starpu_task_wait(task));
        if (stays)
            starpu_task_destroy(task);
    }
}

/* main() waits for a callback between tasks on other data. */
static void run_awaited_between(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        submit_called(handles[0], count_call, NULL);
        submit(&step_codelet, handles[1], round);
        await_calls(round);
        submit(&step_codelet, handles[2], round);
    }
}

static void notify(void *tag)
{
    starpu_tag_notify_from_apps((starpu_tag_t)(uintptr_t)tag);
}

/* Callbacks release the tags of tasks that main() waits for. */
static void run_tags(void)
{
    for (starpu_tag_t round = 0; round < ROUNDS; round++) {
        starpu_tag_t released = 100 + round, waiting = 200 + round;
        struct starpu_task *task = build(&step_codelet, handles[1], (int)round);

        task->use_tag = 1;
        task->tag_id = waiting;
        starpu_tag_declare_deps(waiting, 1, released);
        submit_called(handles[0], notify, (void *)(uintptr_t)released);
        must(starpu_task_submit(task));
        must(starpu_tag_wait(waiting));
    }
}

static void submit_synchronous(struct starpu_task *task)
{
    task->callback_func = count_call;
    task->synchronous = 1;
    must(starpu_task_submit(task));
}

/* main() waits for tasks in their submission: one that writes nothing, one without a kernel, one
 * that writes. */
static void run_synchronous(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        submit_called(handles[0], count_call, NULL);
        submit_synchronous(build(&look_codelet, handles[0], 0));
        submit_synchronous(starpu_task_create());
        submit_synchronous(build(&step_codelet, handles[0], round));
        submit(&step_codelet, handles[1], round);
    }
    starpu_task_wait_for_all();
    await_calls(4 * ROUNDS);
}

static void look_long(void *buffers[], void *arg)
{
    (void)arg;
    usleep(300000);
    count(*variable(buffers[0]));
}

static struct starpu_codelet look_long_codelet = {
    .cpu_funcs = {look_long}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_long"};

/* main() waits for one that writes nothing while another task ends, and goes by what it counted. */
static void run_long(void)
{
    submit(&step_codelet, handles[0], 1);
    submit(&step_codelet, handles[1], 1);
    submit_synchronous(build(&look_long_codelet, handles[2], 0));
    submit(&step_codelet, handles[0], (int)(counter % 1000));
}

static uint64_t count_lines(void)
{
    struct starpu_tic_status status = {0};

    return starpu_tic_get_status(&status, sizeof(status)) == 0 ? status.lines : 0;
}

/* Until a recovery line comes, if one does in this time. */
static void stay(double us)
{
    double until = starpu_timing_now() + us;

    if (!starpu_tic_get_status)
        return;
    for (uint64_t lines = count_lines(); count_lines() == lines && starpu_timing_now() < until;)
        usleep(1000);
}

static void look_and_stay(void *buffers[], void *arg)
{
    (void)arg;
    count(*variable(buffers[0]));
    stay(300000);
}

static struct starpu_codelet stay_codelet = {
    .cpu_funcs = {look_and_stay}, .nbuffers = 1, .modes = {STARPU_R}, .name = "stay"};

/* One that writes nothing runs again where main() was at the cut, and its data has changed since.
 */
static void run_changed_since(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        submit(&stay_codelet, handles[0], 0);
        submit_called(handles[0], count_call, NULL);
        await_calls(round);
        stay(50000);
        submit(&step_codelet, handles[1], round);
        starpu_task_wait_for_all();
    }
}

/* ---- that do what they did not do ------------------------------------------------------------ */

static void submit_other(void *handle)
{
    struct starpu_task *task = build(&step_codelet, handle, 100);

    task->hypervisor_tag = getenv("ORDERS_OTHER") ? 5 : 0; /* which is not protected */
    must(starpu_task_submit(task));
    count_call(NULL);
}

static void run_other(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        submit_called(handles[0], submit_other, handles[1]);
        await_calls(round);
        starpu_task_wait_for_all();
    }
}

/* ---- that submit their own tasks again ------------------------------------------------------- */

enum { AGAIN = 3, TIMES = 5, ALL = 8 };

static struct again {
    struct starpu_task task; /* the program's */
    _Atomic int left;
} again[AGAIN];
static _Atomic int through;

static void submit_again(void *number)
{
    struct again *its = &again[(intptr_t)number];

    if (atomic_fetch_sub(&its->left, 1) > 1)
        must(starpu_task_submit(&its->task));
    else
        atomic_fetch_add(&through, 1);
}

static void take_step(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[0]) * 3 + 1;
}

static struct starpu_codelet again_codelet = {
    .cpu_funcs = {take_step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "again"};

static void submit_all_again(int round)
{
    for (int i = 0; i < AGAIN; i++) {
        atomic_store(&again[i].left, TIMES);
        must(starpu_task_submit(&again[i].task));
    }
    while (atomic_load(&through) < (round + 1) * AGAIN)
        sched_yield();
}

static void run_again(void)
{
    for (int i = 0; i < AGAIN; i++) {
        struct starpu_task *task = &again[i].task;
        starpu_task_init(task);
        task->cl = &again_codelet;
        task->handles[0] = handles[i];
        task->destroy = 0;
        task->callback_func = submit_again;
        task->callback_arg = (void *)(intptr_t)i;
    }
    for (int round = 0; round < ALL; round++) {
        submit_all_again(round);
        for (int i = 0; i < AGAIN; i++)
            submit(&step_codelet, handles[i], round);
        starpu_task_wait_for_all();
    }
    for (int i = 0; i < AGAIN; i++)
        starpu_task_clean(&again[i].task);
}

/* ---- that look at their own tasks ------------------------------------------------------------ */

struct own {
    uint64_t number, result;
};

static void step_by_own(void *buffers[], void *arg)
{
    struct own *own = arg;
    const uint64_t *given = starpu_task_get_current()->callback_arg;

    *variable(buffers[0]) = *variable(buffers[0]) * 3 + own->number * *given;
    own->result = *variable(buffers[0]) % 1000;
}

static struct starpu_codelet own_codelet = {
    .cpu_funcs = {step_by_own}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "own"};

static void note_own_number(void *arg)
{
    const struct own *own = starpu_task_get_current()->cl_arg;

    (void)arg;
    count(own->number);
}

static void note_own_result(void *arg)
{
    const struct own *own = starpu_task_get_current()->cl_arg;

    count(own->result + *(uint64_t *)arg);
}

/* Their arguments are StarPU's to free. */
static void submit_own(uint64_t number)
{
    struct starpu_task *task = starpu_task_create();
    struct own *own = malloc(sizeof(*own));
    static uint64_t given[LENGTH + 1];

    must(own ? 0 : -1);
    given[number] = number + 7;
    task->callback_arg = &given[number];
    *own = (struct own){number, 0};
    task->cl = &own_codelet;
    task->handles[0] = handles[number % 2];
    task->cl_arg = own;
    task->cl_arg_size = sizeof(*own);
    task->cl_arg_free = 1;
    task->prologue_callback_func = note_own_number;
    if (number % 3 == 0)
        task->prologue_callback_pop_func = note_own_number;
    if (number % 5 != 0)
        task->callback_func = note_own_result;
    must(starpu_task_submit(task));
}

static void run_own(void)
{
    for (int i = 1; i <= LENGTH; i++)
        submit_own((uint64_t)i);
}

/* ---- who sets arguments between the submission and the kernel, which adds to them --------------
 */

struct sum {
    uint64_t sum, factor;
};

static void add_to_sum(void *buffers[], void *arg)
{
    struct sum *sum = arg;

    *variable(buffers[0]) = *variable(buffers[0]) * sum->factor + sum->sum % 100;
    sum->sum += *variable(buffers[0]) % 1000;
}

static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {add_to_sum}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "sum"};

static struct starpu_task *build_sum(struct sum *sum, starpu_data_handle_t handle)
{
    struct starpu_task *task = starpu_task_create();

    *sum = (struct sum){99, 3};
    task->cl = &sum_codelet;
    task->handles[0] = handle;
    task->cl_arg = sum;
    task->cl_arg_size = sizeof(*sum);
    return task;
}

static void set_sum(void *arg)
{
    ((struct sum *)arg)->sum = 7;
}

static struct sum again_sum;
static int again_left = LENGTH;

/* The next task has the same arguments. */
static void go_on_with_sum(void *arg)
{
    struct starpu_task *task;

    (void)arg;
    note(again_sum.sum);
    if (again_left-- == 0)
        return;
    task = build_sum(&again_sum, handles[2]);
    again_sum.sum = (uint64_t)again_left;
    task->use_tag = 1;
    task->tag_id = (starpu_tag_t)(3000 + again_left);
    task->callback_func = go_on_with_sum;
    must(starpu_task_submit(task));
}

static void run_sums(void)
{
    static struct sum sums[LENGTH];

    go_on_with_sum(NULL);
    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = build_sum(&sums[i], handles[i % 2]);
        if (i % 3 == 0) {
            task->prologue_callback_func = set_sum;
            task->prologue_callback_arg = &sums[i];
        } else if (i % 3 == 1) {
            task->use_tag = 1;
            task->tag_id = (starpu_tag_t)(1000 + i);
            starpu_tag_declare_deps(task->tag_id, 1, (starpu_tag_t)(2000 + i));
        } else {
            must(starpu_data_acquire(handles[i % 2], STARPU_RW));
        }
        must(starpu_task_submit(task));
        if (i % 3 != 0)
            sums[i].sum = (uint64_t)i;
        if (i % 3 == 1)
            starpu_tag_notify_from_apps((starpu_tag_t)(2000 + i));
        else if (i % 3 == 2)
            starpu_data_release(handles[i % 2]);
        if (i % 4 == 3)
            starpu_task_wait_for_all();
        if (i % 4 == 3)
            count(sums[i].sum + sums[i - 1].sum);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < LENGTH; i++)
        count(sums[i].sum);
}

/* More than is kept. */
static void run_large_sums(void)
{
    const size_t size = 3 << 20;
    struct sum *sums = calloc(1, size);

    must(sums ? 0 : -1);
    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = build_sum(sums, handles[i % 2]);
        task->cl_arg_size = size;
        must(starpu_task_submit(task));
        starpu_task_wait_for_all();
        count(sums->sum);
    }
    free(sums);
}

const struct mode orders_callbacks[] = {{"callback-nowhere", run_nowhere},
                                        {"callback-nowhere-ready", run_nowhere_ready},
                                        {"callback-awaited", run_awaited},
                                        {"callback-awaited-between", run_awaited_between},
                                        {"callback-waited", run_waited},
                                        {"callback-tags", run_tags},
                                        {"callback-synchronous", run_synchronous},
                                        {"callback-long", run_long},
                                        {"callback-bare", run_bare},
                                        {"callback-again", run_again},
                                        {"callback-own", run_own},
                                        {"callback-other", run_other},
                                        {"arguments-set", run_sums},
                                        {"arguments-large", run_large_sums},
                                        {"nowhere-reads", run_nowhere_reads},
                                        {"changed-since", run_changed_since},
                                        {"prologue-synchronous", run_prologue_synchronous},
                                        {"let-go", run_let_go},
                                        {NULL, NULL}};
