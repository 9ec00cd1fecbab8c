/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Task callbacks run as application code. They may run on any thread, also inside our real calls,
 * where calls are otherwise taken for StarPU's own. */
#include <stdlib.h>

#include "interpose/tasks.h"

struct wrapped_callback {
    struct starpu_task *task;
    void (*function)(void *); /* what the task held; may be NULL */
    void *argument;
    /* what the task held before it became a control task */
    struct starpu_codelet *codelet;
    starpu_data_handle_t *dyn_handles;
    void (*run)(void *);
    uint64_t key;
    struct tic_lent *lent; /* its handles, while it has some of ours; or NULL */
};

/* It may run inside a call of the owner thread. */
void tic_callback_run(void (*run)(void *), void *argument)
{
    int guard = tic_guard;

    tic_guard = 0;
    tic_in_callback++;
    run(argument);
    tic_in_callback--;
    tic_guard = guard;
}

void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument)
{
    struct tic_session *session = tic_session;

    if (atomic_load(&session->watching) && tic_graph_note_callback(&session->graph, key) != 0)
        tic_snapshot_break(&session->snapshot, "out of memory");
    tic_callback_run(run, argument);
}

static void run_callback(void *arg)
{
    struct wrapped_callback *wrapped = arg;
    struct starpu_task *task = wrapped->task;
    void (*run)(void *) = wrapped->run;
    void *argument = wrapped->argument;
    uint64_t key = wrapped->key;

    /* StarPU has read these fields; the application may submit the structure again. */
    task->callback_func = wrapped->function;
    task->callback_arg = argument;
    task->cl = wrapped->codelet;
    task->dyn_handles = wrapped->dyn_handles;
    tic_reads_put_back(task, wrapped->lent);
    tic_reads_end_loan(wrapped->lent);
    free(wrapped);
    if (run)
        tic_callback_begin(key, run, argument);
}

/* ---- prologues ------------------------------------------------------------------------------ */

struct wrapped_prologue {
    struct starpu_task *task;
    void (*function)(void *);
    void *argument;
};

static void run_prologue(void *arg)
{
    struct wrapped_prologue wrapped = *(struct wrapped_prologue *)arg;

    free(arg);
    wrapped.task->prologue_callback_func = wrapped.function;
    wrapped.task->prologue_callback_arg = wrapped.argument;
    tic_callback_run(wrapped.function, wrapped.argument);
}

static void run_prologue_pop(void *arg)
{
    struct wrapped_prologue wrapped = *(struct wrapped_prologue *)arg;

    free(arg);
    wrapped.task->prologue_callback_pop_func = wrapped.function;
    wrapped.task->prologue_callback_pop_arg = wrapped.argument;
    tic_callback_run(wrapped.function, wrapped.argument);
}

static bool wrap_prologue(struct starpu_task *task, void (**function)(void *), void **argument,
                          void (*run)(void *))
{
    if (!*function || *function == run)
        return true;
    struct wrapped_prologue *wrapped = malloc(sizeof(*wrapped));
    if (!wrapped)
        return false;
    *wrapped = (struct wrapped_prologue){task, *function, *argument};
    *function = run;
    *argument = wrapped;
    return true;
}

static bool wrap_prologues(struct starpu_task *task)
{
    return wrap_prologue(task, &task->prologue_callback_func, &task->prologue_callback_arg,
                         run_prologue) &&
           wrap_prologue(task, &task->prologue_callback_pop_func, &task->prologue_callback_pop_arg,
                         run_prologue_pop);
}

/* ---- wrapping ------------------------------------------------------------------------------- */

/* StarPU looks into the codelet of a task that has its own array of handles. */
static void make_control(struct starpu_task *task)
{
    task->cl = NULL;
    task->dyn_handles = NULL;
}

bool tic_callback_wrap(struct starpu_task *task, bool control, uint64_t key)
{
    void (*run)(void *) = task->callback_func;

    if (!wrap_prologues(task))
        return false;
    if (!run && task->cl)
        run = task->cl->callback_func;
    struct tic_lent *lent = tic_reads_lend(task);
    if (!run && !lent && !(control && (!task->destroy || task->dyn_handles))) {
        if (control)
            make_control(task);
        return true;
    }
    struct wrapped_callback *wrapped = malloc(sizeof(*wrapped));
    if (!wrapped)
        return false;
    *wrapped = (struct wrapped_callback){
        .task = task,
        .function = task->callback_func,
        .argument = task->callback_arg,
        .codelet = task->cl,
        .dyn_handles = task->dyn_handles,
        .run = run,
        .key = key,
        .lent = lent,
    };
    task->callback_func = run_callback;
    task->callback_arg = wrapped;
    if (control)
        make_control(task);
    return true;
}

static void unwrap_prologue(void (**function)(void *), void **argument, void (*run)(void *))
{
    if (*function != run)
        return;
    const struct wrapped_prologue *wrapped = *argument;
    *function = wrapped->function;
    *argument = wrapped->argument;
}

void tic_callback_unwrap(struct starpu_task *copy)
{
    unwrap_prologue(&copy->prologue_callback_func, &copy->prologue_callback_arg, run_prologue);
    unwrap_prologue(&copy->prologue_callback_pop_func, &copy->prologue_callback_pop_arg,
                    run_prologue_pop);
    if (copy->callback_func != run_callback)
        return;
    const struct wrapped_callback *wrapped = copy->callback_arg;
    copy->callback_func = wrapped->function;
    copy->callback_arg = wrapped->argument;
    copy->cl = wrapped->codelet;
    copy->dyn_handles = wrapped->dyn_handles;
    tic_reads_put_back(copy, wrapped->lent);
}

static void run_nothing(void *arg)
{
    (void)arg;
}

void tic_callback_remove(struct starpu_task *task)
{
    bool codelets = task->cl && task->cl->callback_func;

    task->callback_func = codelets ? run_nothing : NULL; /* the task's own goes first */
    task->callback_arg = NULL;
    task->callback_arg_free = 0;
}
