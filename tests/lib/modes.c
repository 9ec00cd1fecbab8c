/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that each use one more part of StarPU's model; the argument names one: bundle,
 * prologue, end-dep (a task ends when a callback of another releases it), second-init (two
 * sessions, the second goes on with the results of the first), left-over, contexts; and those of
 * the other files modes_*.c. */
#include "lib/modes.h"

static struct starpu_task *build_step(int which, int number)
{
    struct starpu_task *task = starpu_task_build(&step_codelet, STARPU_RW, handles[which],
                                                 STARPU_VALUE, &number, sizeof(number), 0);
    must(task ? 0 : -1);
    return task;
}

/* ---- bundle --------------------------------------------------------------------------------- */

static void run_bundle(void)
{
    for (int number = 0; number < LENGTH; number++) {
        struct starpu_task *tasks[CHAINS];
        starpu_task_bundle_t bundle;

        starpu_task_bundle_create(&bundle);
        for (int chain = 0; chain < CHAINS; chain++) {
            tasks[chain] = build_step(chain, number);
            must(starpu_task_bundle_insert(bundle, tasks[chain]));
        }
        starpu_task_bundle_close(bundle);
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_submit(tasks[chain]));
    }
}

/* ---- prologue ------------------------------------------------------------------------------- */

static void count_one(void *arg)
{
    (void)arg;
    count(1);
}

static void run_prologue(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            struct starpu_task *task = build_step(chain, number);
            task->prologue_callback_func = count_one;
            must(starpu_task_submit(task));
        }
}

/* ---- end-dep: the next task on the held value waits for the callback ------------------------ */

static void release_end(void *task)
{
    starpu_task_end_dep_release(task);
}

static void run_end_dep(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            struct starpu_task *held = build_step(chain, number);
            struct starpu_task *releasing = build_step(CHAINS + chain, number);

            starpu_task_end_dep_add(held, 1);
            releasing->callback_func = release_end;
            releasing->callback_arg = held;
            must(starpu_task_submit(held));
            must(starpu_task_submit(releasing));
        }
}

/* ---- second-init ---------------------------------------------------------------------------- */

static void start_again(void)
{
    steps_close();
    for (int i = 1; i < CHAINS; i++)
        values[i] += values[i - 1];
    steps_open();
    submit_steps(CHAINS / 2);
}

static void run_second_init(void)
{
    submit_steps(0);
    start_again();
}

/* ---- left-over: data without a home that is never unregistered, and that StarPU frees ---------
 */

enum { LEFT_OVER = 40 << 20 }; /* bytes: so many that free() unmaps them */

static void fill_left_over(void *buffers[], void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 7, LEFT_OVER);
}

static struct starpu_codelet left_over_codelet = {
    .cpu_funcs = {fill_left_over}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill_left_over"};

static void run_left_over(void)
{
    starpu_data_handle_t left;

    submit_steps(0);
    starpu_task_wait_for_all();
    starpu_vector_data_register(&left, -1, 0, LEFT_OVER, 1);
    must(starpu_task_insert(&left_over_codelet, STARPU_W, left, 0));
    starpu_task_wait_for_all();
    start_again();
}

/* ---- contexts ------------------------------------------------------------------------------- */

static void run_contexts(void)
{
    int worker = 0;
    unsigned context =
        starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);

    for (int number = 0; number < LENGTH; number++) {
        for (int chain = 0; chain < CHAINS; chain++) {
            struct starpu_task *task = build_step(chain, number);
            must(starpu_task_submit_to_ctx(task, context));
        }
        submit_step(CHAINS, number);
    }
    starpu_task_wait_for_all_in_ctx(context);
    starpu_sched_ctx_delete(context);
    submit_steps(0);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"acquire-cb", run_acquire_cb},
                                        {"acquire-cb-write", run_acquire_cb_write},
                                        {"bundle", run_bundle},
                                        {"contexts", run_contexts},
                                        {"coo", run_coo},
                                        {"csr", run_csr},
                                        {"custom", run_custom},
                                        {"custom-waits", run_custom_waits},
                                        {"custom-heap", run_custom_heap},
                                        {"custom-beside", run_custom_beside},
                                        {"end-dep", run_end_dep},
                                        {"kept-reader", run_kept_reader},
                                        {"many-buffers", run_many_buffers},
                                        {"prologue", run_prologue},
                                        {"scratch", run_scratch},
                                        {"second-init", run_second_init},
                                        {"left-over", run_left_over},
                                        {"try", run_try},
                                        {"wont-use", run_wont_use},
                                        {"invalidate", run_invalidate},
                                        {NULL, NULL}};

    return steps_main(argc, argv, modes);
}
