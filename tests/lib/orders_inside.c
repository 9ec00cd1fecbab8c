/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c in which callbacks run inside of the call that lets their tasks,
 * or accesses, go. */
#include <stdbool.h>
#include <stdint.h>

#include <unistd.h>

#include "lib/orders.h"
#include "starpu_tic.h"

static uint64_t ran_inside;

static void run_inside(void *arg)
{
    (void)arg;
    ran_inside++;
    submit(&step_codelet, handles[2], (int)ran_inside);
}

static void hold_by_tag(struct starpu_task *task, int number)
{
    task->use_tag = 1;
    task->tag_id = (starpu_tag_t)(4000 + number);
    starpu_tag_declare_deps(task->tag_id, 1, (starpu_tag_t)(5000 + number));
}

static struct starpu_task *submit_held(int number, bool by_tag)
{
    struct starpu_task *task = starpu_task_create();

    task->callback_func = run_inside;
    if (by_tag) {
        hold_by_tag(task, number);
    } else {
        task->destroy = 0;
        starpu_task_end_dep_add(task, 1);
    }
    must(starpu_task_submit(task));
    return task;
}

static void let_tag_go(void *arg)
{
    starpu_tag_notify_from_apps((starpu_tag_t)(uintptr_t)arg);
    note(ran_inside);
}

static void let_end_go(void *arg)
{
    starpu_task_end_dep_release(arg);
    note(ran_inside);
}

/* main() does so in the first half, and callbacks of tasks in the second. */
static void run_let_go_inside(void)
{
    for (int i = 0; i < LENGTH; i++) {
        bool by_tag = i % 2 == 0;
        struct starpu_task *held = submit_held(i, by_tag);
        void *arg = by_tag ? (void *)(uintptr_t)(5000 + i) : held;
        submit(&step_codelet, handles[0], i);
        if (i < LENGTH / 2) {
            (by_tag ? let_tag_go : let_end_go)(arg);
            submit(&step_codelet, handles[2], 100 + i);
        } else {
            submit_called(handles[1], by_tag ? let_tag_go : let_end_go, arg);
            starpu_task_wait_for_all();
        }
    }
}

static void give_back_and_let_go(void *number)
{
    starpu_data_release(handles[1]);
    starpu_tag_notify_from_apps((starpu_tag_t)(5000 + (uintptr_t)number));
    note(ran_inside);
}

static void keep(void *arg)
{
    (void)arg;
}

static void give_back_inside(void *arg)
{
    (void)arg;
    ran_inside++;
    starpu_data_release(handles[1]);
}

static void give_back(void *arg)
{
    (void)arg;
    starpu_data_release(handles[1]);
    note(ran_inside);
}

/* Prologues do so, callbacks of accesses, and callbacks of tasks which give data back that another
 * access waits for. */
static void run_let_go_others(void)
{
    for (int i = 0; i < LENGTH; i++) {
        if (i % 3 < 2)
            submit_held(i, true);
        submit_and_wait(build(&step_codelet, handles[0], i));
        if (i % 3 == 0) {
            struct starpu_task *task = build(&step_codelet, handles[0], 100 + i);
            task->prologue_callback_func = let_tag_go;
            task->prologue_callback_arg = (void *)(uintptr_t)(5000 + i);
            must(starpu_task_submit(task));
        } else if (i % 3 == 1) {
            must(starpu_data_acquire_cb(handles[1], STARPU_R, give_back_and_let_go,
                                        (void *)(uintptr_t)i));
        } else {
            must(starpu_data_acquire_cb(handles[1], STARPU_RW, keep, NULL));
            must(starpu_data_acquire_cb(handles[1], STARPU_R, give_back_inside, NULL));
            submit_called(handles[0], give_back, NULL);
        }
        submit(&step_codelet, handles[0], 200 + i);
        starpu_task_wait_for_all();
    }
}

#pragma weak starpu_tic_get_status /* where it is protected */
#pragma weak starpu_tic_get_progress
#pragma weak starpu_tic_checkpoint_request

static void await_line(void)
{
    struct starpu_tic_progress progress;
    struct starpu_tic_status status;

    if (!starpu_tic_get_status || starpu_tic_get_progress(&progress) != 0 || progress.recovered ||
        starpu_tic_get_status(&status, sizeof(status)) != 0)
        return;
    const uint64_t lines = status.lines;
    starpu_tic_checkpoint_request();
    while (status.is_protected && status.lines == lines) {
        usleep(100);
        starpu_tic_get_status(&status, sizeof(status));
    }
}

static void take_line_inside(void *arg)
{
    ran_inside++;
    if (arg)
        await_line();
    starpu_data_release(handles[1]);
}

/* main() has waited since its last operation, and lines are taken inside of its calls: the second
 * has what the first has. */
static void run_line_inside(void)
{
    for (int i = 0; i < LENGTH; i++) {
        submit(&step_codelet, handles[0], i);
        starpu_task_wait_for_all();
        must(starpu_data_acquire_cb(handles[1], STARPU_R, take_line_inside,
                                    i % 4 == 1 ? handles[1] : NULL));
        note(ran_inside);
        submit(&step_codelet, handles[2], i);
        starpu_task_wait_for_all();
    }
}

static void take_line_behind(void *arg)
{
    await_line();
    usleep(20000); /* main() could go on meanwhile */
    ran_inside++;
    starpu_data_release(arg);
}

/* The end of a task grants access, and lines are taken inside of the callback. main() waits for all
 * tasks, which includes it. */
static void run_line_behind(void)
{
    for (int i = 0; i < LENGTH; i++) {
        submit(&step_codelet, handles[0], i);
        must(starpu_data_acquire_cb(handles[0], STARPU_RW, take_line_behind, handles[0]));
        starpu_task_wait_for_all();
        note(ran_inside);
    }
}

static void take_line_after(void *arg)
{
    (void)arg;
    await_line();
    usleep(20000); /* as above */
    ran_inside++;
}

/* The task writes nothing. main() waits for it, which includes its callback. */
static void run_line_read(void)
{
    for (int i = 0; i < LENGTH; i++) {
        submit(&step_codelet, handles[0], i);
        struct starpu_task *task = build(&look_codelet, handles[0], i);
        task->callback_func = take_line_after;
        task->synchronous = i % 2;
        task->destroy = task->detach = 0;
        must(starpu_task_submit(task));
        if (i % 2 == 0)
            must(starpu_task_wait(task));
        note(ran_inside);
        starpu_task_destroy(task);
    }
}

static uint64_t granted, given_back;

static void take_line_first(void *arg)
{
    await_line();
    starpu_data_release(arg);
}

static void grant(void *arg)
{
    (void)arg;
    granted++;
}

static uint64_t seen_before;

static void see_granted(void *arg)
{
    (void)arg;
    seen_before = granted;
}

static void give_back_granted(void *arg)
{
    given_back = granted;
    starpu_data_release(arg);
}

/* One task's end grants two accesses, and a line is taken inside of the callback of the first. The
 * second is given back by the callback of a task that reads the data after it. */
static void run_line_grant(void)
{
    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *writer = build_pair(&join_codelet, handles[0], handles[1]);
        hold_by_tag(writer, i);
        must(starpu_task_submit(writer));
        must(starpu_data_acquire_cb(handles[1], STARPU_RW, take_line_first, handles[1]));
        must(starpu_data_acquire_cb(handles[0], STARPU_R, grant, NULL));
        struct starpu_task *task = build_pair(&join_codelet, handles[2], handles[0]);
        task->prologue_callback_func = see_granted;
        task->callback_func = give_back_granted;
        task->callback_arg = handles[0];
        must(starpu_task_submit(task));
        submit(&step_codelet, handles[0], 100 + i);
        starpu_tag_notify_from_apps((starpu_tag_t)(5000 + i));
        starpu_task_wait_for_all();
        note(seen_before);
        note(given_back);
    }
}

static uint64_t looked_at, child_left;
static _Atomic unsigned children_ended;

static void end_child(void *arg)
{
    (void)arg;
    child_left = values[0];
    children_ended++;
}

static void look_and_submit(void *number)
{
    const unsigned ended = children_ended;
    struct starpu_task *child = build(&step_codelet, handles[0], 100 + (int)(uintptr_t)number);

    looked_at = values[0];
    child->callback_func = end_child;
    must(starpu_task_submit(child));
    while (starpu_worker_get_count() > 1 && children_ended == ended)
        usleep(100);
    usleep(20000); /* a cut may be taken meanwhile */
}

/* main() is inside of the submission of a task, whose callback looks at its data and submits what
 * writes that; this has ended when a cut is taken. */
static void run_line_last(void)
{
    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = build(&step_codelet, handles[0], i);
        task->callback_func = look_and_submit;
        task->callback_arg = (void *)(uintptr_t)i;
        task->synchronous = 1;
        must(starpu_task_submit(task));
        starpu_task_wait_for_all();
        note(looked_at);
    }
}

/* The callback of a task that runs nowhere has looked, and has not returned when that of the task
 * that it has submitted looks at what this has left. */
static void run_looked_nowhere(void)
{
    static struct starpu_codelet nowhere = {
        .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_R}, .name = "nowhere_looked"};

    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &nowhere;
        task->handles[0] = handles[0];
        task->callback_func = look_and_submit;
        task->callback_arg = (void *)(uintptr_t)i;
        must(starpu_task_submit(task));
        starpu_task_wait_for_all();
        note(looked_at);
        note(child_left);
    }
}

static void submit_nested(void *arg)
{
    (void)arg;
    submit_called(handles[2], end_child, NULL);
}

static void submit_empty(void *number)
{
    const unsigned ended = children_ended;
    struct starpu_task *task = starpu_task_create();

    (void)number;
    task->callback_func = submit_nested;
    must(starpu_task_submit(task));
    while (starpu_worker_get_count() > 1 && children_ended == ended)
        usleep(100);
    await_line();
}

/* A callback submits a task without a kernel, whose callback runs inside of it and submits, too. A
 * line is taken when that task's callback has returned. */
static void run_nested_empty(void)
{
    for (int i = 0; i < LENGTH; i++) {
        submit_called(handles[0], submit_empty, (void *)(uintptr_t)i);
        starpu_task_wait_for_all();
    }
}

static void look_at_leaving(void *arg)
{
    (void)arg;
    looked_at = shared;
}

/* The callback of a task looks at data while main() unregisters that. */
static void run_looked_leaving(void)
{
    for (int i = 0; i < LENGTH; i++) {
        starpu_data_handle_t handle = register_shared();
        submit_called(handle, look_at_leaving, NULL);
        starpu_data_unregister(handle);
        starpu_task_wait_for_all();
        note(looked_at);
    }
}

/* A line is taken inside of a callback, for which main() waits as StarPU counts tasks, of all, or
 * of a context. */
static void run_line_counted(void)
{
    int worker = 0;
    unsigned context =
        starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);

    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = build(&step_codelet, handles[0], i);
        task->callback_func = take_line_after;
        if (i % 2)
            task->sched_ctx = context;
        must(starpu_task_submit(task));
        must(i % 2 ? starpu_task_wait_for_n_submitted_in_ctx(context, 0)
                   : starpu_task_wait_for_n_submitted(0));
        note(ran_inside);
    }
    starpu_sched_ctx_delete(context);
}

static void run_line_tag(void)
{
    for (int i = 0; i < LENGTH; i++) {
        struct starpu_task *task = build(&step_codelet, handles[0], i);
        task->use_tag = 1;
        task->tag_id = (starpu_tag_t)(6000 + i);
        must(starpu_task_submit(task));
        starpu_tag_wait((starpu_tag_t)(6000 + i));
    }
}

/* StarPU waits for one context after the other. */
static void run_line_contexts(void)
{
    int worker = 0;
    unsigned context =
        starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);

    for (int i = 0; i < LENGTH; i++) {
        submit(&step_codelet, handles[0], i);
        must(starpu_task_wait_for_all());
    }
    starpu_sched_ctx_delete(context);
}

const struct mode orders_inside[] = {{"let-go-inside", run_let_go_inside},
                                     {"line-inside", run_line_inside},
                                     {"line-behind", run_line_behind},
                                     {"line-read", run_line_read},
                                     {"line-grant", run_line_grant},
                                     {"line-last", run_line_last},
                                     {"looked-nowhere", run_looked_nowhere},
                                     {"looked-leaving", run_looked_leaving},
                                     {"nested-empty", run_nested_empty},
                                     {"line-counted", run_line_counted},
                                     {"line-tag", run_line_tag},
                                     {"line-contexts", run_line_contexts},
                                     {"let-go-inside-others", run_let_go_others},
                                     {NULL, NULL}};
