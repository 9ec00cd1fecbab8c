/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenarios of tests/lib/orders.c about reductions of variables: when contributions are folded, and
 * who waits for whom meanwhile. */
#include <stdlib.h>

#include "lib/orders.h"

enum { MANY = 6 };

static struct starpu_codelet reduce_other_codelet = {.cpu_funcs = {add_other},
                                                     .nbuffers = 2,
                                                     .modes = {STARPU_REDUX, STARPU_R},
                                                     .name = "reduce_other"};

static void submit_look(void *arg)
{
    (void)arg;
    submit(&look_codelet, handles[0], 0);
}

/* The data has no value before, and all contributions after. */
static void run_invalidated(void)
{
    starpu_data_handle_t sum = make_reducible(handles[0]);

    starpu_data_invalidate_submit(sum);
    submit_contributions(sum);
    note(read_value(sum));
}

/* What a callback's task reads has all contributions of before. */
static void run_callback_reads(void)
{
    submit_contributions(make_reducible(handles[0]));
    submit_called(handles[1], submit_look, NULL);
    starpu_task_wait_for_all();
    submit(&step_codelet, handles[0], 3);
}

static void submit_assignment(void *handle)
{
    submit(&assign_codelet, handle, 100);
}

/* Contributions are added to what a callback's task wrote. */
static void run_callback_writes(void)
{
    starpu_data_handle_t sum = make_reducible(register_homeless());

    submit_called(handles[1], submit_assignment, sum);
    starpu_task_wait_for_all();
    submit_contributions(sum);
    note(read_value(sum));
    starpu_data_unregister(sum);
}

/* The first contribution waits for what main() holds, main() waits for later ones. */
static void run_held(void)
{
    starpu_data_handle_t held = handles[0], sum = make_reducible(handles[1]);

    must(starpu_data_acquire(held, STARPU_RW));
    submit_pair(&reduce_other_codelet, sum, held);
    for (int number = 0; number < MANY; number++)
        submit_and_wait(build(&reduce_codelet, sum, number));
    starpu_data_release(held);
    submit(&step_codelet, sum, 1);
}

/* The first contribution ends last, main() waits for the others. */
static void run_late_end(void)
{
    starpu_data_handle_t sum = make_reducible(handles[0]);
    struct starpu_task *late = build(&reduce_codelet, sum, 4);

    late->destroy = 0;
    late->detach = 0;
    starpu_task_end_dep_add(late, 1);
    must(starpu_task_submit(late));
    for (int number = 0; number < MANY; number++)
        submit_and_wait(build(&reduce_codelet, sum, number));
    starpu_task_end_dep_release(late);
    must(starpu_task_wait(late));
    starpu_task_destroy(late);
    submit(&step_codelet, sum, 1);
}

/* ---- order by declared dependencies alone ---------------------------------------------------- */

static void reduce_by_dependencies(starpu_data_handle_t sum, unsigned consistent)
{
    struct starpu_task *tasks[MANY], *last = build(&step_codelet, sum, 1);

    for (int i = 0; i < MANY; i++) {
        tasks[i] = build(&reduce_codelet, sum, i + 1);
        tasks[i]->sequential_consistency = consistent;
    }
    last->sequential_consistency = consistent;
    starpu_task_declare_deps_array(last, MANY, tasks);
    for (int i = 0; i < MANY; i++)
        must(starpu_task_submit(tasks[i]));
    must(starpu_task_submit(last));
}

/* The reader of a sum declares its contributions, tasks have no sequential consistency. */
static void run_unordered_tasks(void)
{
    reduce_by_dependencies(make_reducible(handles[0]), 0);
}

/* The same, but the data has none. */
static void run_unordered_data(void)
{
    starpu_data_set_sequential_consistency_flag(handles[0], 0);
    reduce_by_dependencies(make_reducible(handles[0]), 1);
}

/* The contribution of a task that ends protection counts, too. */
static void run_last(void)
{
    starpu_data_handle_t sum = make_reducible(handles[0]);
    struct starpu_task *last = build(&reduce_codelet, sum, 1000);

    submit_contributions(sum);
    last->execute_on_a_specific_worker = 1;
    last->workerorder = 1;
    must(starpu_task_submit(last));
    note(read_value(sum));
}

static void give_back(void *handle)
{
    starpu_data_release(handle);
}

/* Contributions while main() waits for other data by callback, how long is a race. */
static void run_access(void)
{
    starpu_data_handle_t sum = make_reducible(handles[1]);

    submit_row(handles[0], 1);
    must(starpu_data_acquire_cb(handles[0], STARPU_R, give_back, handles[0]));
    submit_contributions(sum);
    submit(&step_codelet, sum, 1);
    submit_contributions(sum);
    note(read_value(sum));
}

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

/* StarPU does not look at this mode. */
static struct starpu_codelet clear_reading_codelet = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "clear_reading"};

/* The initialization says that it reads what it initializes: contributions, and data without a
 * value. */
static void run_reading_init(void)
{
    starpu_data_handle_t sum = make_reducible(register_homeless());

    starpu_data_set_reduction_methods(sum, &fold_codelet, &clear_reading_codelet);
    submit(&assign_codelet, sum, 7);
    for (int round = 0; round < 3; round++) {
        submit_contributions(sum);
        note(read_value(sum));
        starpu_data_invalidate_submit(sum);
    }
    submit_contributions(sum);
    note(read_value(sum));
    starpu_data_unregister(sum);
}

static void look_and_release(void *arg)
{
    uint64_t *value = starpu_data_get_local_ptr(arg);

    if (*value != 0)
        abort();
    starpu_data_release(arg);
}

/* Data leaves whose first value a callback's access waits for; no task of the program uses it. */
static void run_unused(void)
{
    for (int i = 0; i < MANY; i++) {
        starpu_data_handle_t sum = make_reducible(register_homeless());
        must(starpu_data_acquire_cb(sum, STARPU_R, look_and_release, sum));
        starpu_data_unregister(sum);
    }
    note(MANY);
}

const struct mode orders_reductions[] = {{"fold-reading-init", run_reading_init},
                                         {"fold-before-callback", run_callback_reads},
                                         {"fold-after-callback", run_callback_writes},
                                         {"fold-while-held", run_held},
                                         {"fold-while-access", run_access},
                                         {"fold-late-end", run_late_end},
                                         {"fold-invalidated", run_invalidated},
                                         {"fold-unused", run_unused},
                                         {"fold-unordered-tasks", run_unordered_tasks},
                                         {"fold-unordered-data", run_unordered_data},
                                         {"fold-last", run_last},
                                         {NULL, NULL}};
