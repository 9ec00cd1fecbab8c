/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Task callbacks run as application code. They may run on any thread, also inside our real calls,
 * where calls are otherwise taken for StarPU's own. */
#include "interpose/callback.h"

#include <stdlib.h>

#include "base/error.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/deliver.h"
#include "interpose/later.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/nowhere.h"
#include "interpose/position.h"
#include "session/task.h"
#include "real/real.h"

struct wrapped_callback {
    struct starpu_task *task;
    void (*function)(void *); /* what the task held; may be NULL */
    void *argument;
    /* what the task held before it became a control task */
    struct starpu_codelet *codelet;
    starpu_data_handle_t *dyn_handles;
    void (*run)(void *);
    uint64_t key;
    struct tic_lent *lent;  /* its handles, while it has some of ours; or NULL */
    struct tic_small small; /* data that the callback may look at */
    bool control;           /* the task is skipped */
    bool expected;          /* main() waits for it at the recovered cut */
    bool counted;           /* its task has begun: a quiescent line waits for it */
};

/* Its task was not done at the recovered cut, and a restart may be faster with it than main(). */
static bool hold(struct starpu_task *task, uint64_t key, const struct tic_small *small)
{
    struct tic_session *session = tic_session;

    if (!tic_clock_is_behind())
        return false;
    tic_lock(&session->submit);
    bool held = tic_clock_hold_callback_locked(task, key, false, small);
    tic_unlock(&session->submit);
    return held;
}

/* Runs it now, or leaves it to be run later. */
static void run_wrapped(struct wrapped_callback *wrapped)
{
    struct starpu_task *task = wrapped->task;
    void (*run)(void *) = wrapped->run;
    void *argument = wrapped->argument;
    uint64_t key = wrapped->key;
    struct tic_small small = wrapped->small;
    bool expected = wrapped->expected, control = wrapped->control;

    /* StarPU has read these fields; the application may submit the structure again. */
    task->callback_func = wrapped->function;
    task->callback_arg = argument;
    task->cl = wrapped->codelet;
    task->dyn_handles = wrapped->dyn_handles;
    tic_reads_put_back(task, wrapped->lent);
    tic_reads_end_loan(wrapped->lent);
    free(wrapped);
    if (!run || hold(task, key, &small)) {
        ;
    } else if (control && tic_in_callback > 0) {
        tic_clock_put_off_ended(task, key, expected, &small);
        return;
    } else if (tic_is_owner && (control || tic_clock_is_behind())) {
        /* A worker would run it, and main() may hold what it waits for. */
        tic_clock_run_apart(task, key, expected, control, &small);
        return;
    } else {
        tic_looks_note_callback(&small, key);
        tic_callback_begin(key, run, argument);
    }
    if (expected)
        tic_position_note_shown();
}

static void run_callback(void *arg)
{
    struct wrapped_callback *wrapped = arg;
    bool counted = wrapped->counted;

    run_wrapped(wrapped);
    if (counted)
        atomic_fetch_sub(&tic_session->graph.callbacks_open, 1);
}

const void *tic_callback_argument(const struct starpu_task *task)
{
    if (task->callback_func != run_callback)
        return task->callback_arg;
    const struct wrapped_callback *wrapped = task->callback_arg;
    return wrapped->argument;
}

void tic_callback_note_begin(const struct starpu_task *task)
{
    if (task->callback_func != run_callback)
        return;
    struct wrapped_callback *wrapped = task->callback_arg;
    if (wrapped->run && !wrapped->counted) {
        wrapped->counted = true;
        atomic_fetch_add(&tic_session->graph.callbacks_open, 1);
    }
}

/* ---- prologues ------------------------------------------------------------------------------ */

struct wrapped_prologue {
    struct starpu_task *task;
    void (*function)(void *);
    void *argument;
    uint64_t key;
    bool held;      /* it runs, or ran, at another time */
    uint64_t reads; /* key of a task that runs nowhere, and whose callbacks may read; or 0 */
};

static void begin_prologue(const struct wrapped_prologue *wrapped)
{
    if (wrapped->reads)
        tic_nowhere_begin(wrapped->task, wrapped->reads);
    if (!wrapped->held && wrapped->function)
        tic_callback_begin(wrapped->key, wrapped->function, wrapped->argument);
}

static void run_prologue(void *arg)
{
    struct wrapped_prologue wrapped = *(struct wrapped_prologue *)arg;

    free(arg);
    wrapped.task->prologue_callback_func = wrapped.function;
    wrapped.task->prologue_callback_arg = wrapped.argument;
    begin_prologue(&wrapped);
}

static void run_prologue_pop(void *arg)
{
    struct wrapped_prologue wrapped = *(struct wrapped_prologue *)arg;

    free(arg);
    wrapped.task->prologue_callback_pop_func = wrapped.function;
    wrapped.task->prologue_callback_pop_arg = wrapped.argument;
    begin_prologue(&wrapped);
}

static struct wrapped_prologue *wrap_prologue(struct starpu_task *task, void (**function)(void *),
                                              void **argument, void (*run)(void *), uint64_t key)
{
    struct wrapped_prologue *wrapped = malloc(sizeof(*wrapped));
    if (!wrapped)
        return NULL;
    *wrapped = (struct wrapped_prologue){task, *function, *argument, key, false, 0};
    *function = run;
    *argument = wrapped;
    return wrapped;
}

/* A restart runs those of tasks that are done when main() is there: at once, or beside tasks that
 * are not done. */
static void tell_prologue(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (tic_session->settings.pointers == TIC_POINTERS_TRUST || tic_session->report ||
        atomic_load_explicit(&told, memory_order_relaxed) || atomic_exchange(&told, true))
        return;
    tic_log(
        TIC_LOG_WARN,
        "task \"%s\" has a prologue (prologue_callback_func, or the one of pop). What prologues "
        "read of data is not logged, nor in which order they come where declared dependencies "
        "order their tasks: a restart may show them something else, and compute another result. "
        "`starpu-tic rehearse` tells; STARPU_TIC_POINTERS=trust is the promise that they do not "
        "depend on it",
        tic_task_name(task));
}

static bool wrap_prologues(struct starpu_task *task, uint64_t key)
{
    void (*first)(void *) = task->prologue_callback_func;
    void (*pop)(void *) = task->prologue_callback_pop_func;

    if ((first && first != run_prologue) || (pop && pop != run_prologue_pop))
        tell_prologue(task);
    return (!first || first == run_prologue ||
            wrap_prologue(task, &task->prologue_callback_func, &task->prologue_callback_arg,
                          run_prologue, key ^ UINT64_C(1) << PROLOGUE_BIT)) &&
           (!pop || pop == run_prologue_pop ||
            wrap_prologue(task, &task->prologue_callback_pop_func, &task->prologue_callback_pop_arg,
                          run_prologue_pop, key ^ UINT64_C(1) << PROLOGUE_POP_BIT));
}

bool tic_callback_watch_begin(struct starpu_task *task, uint64_t key)
{
    struct wrapped_prologue *wrapped =
        task->prologue_callback_pop_func == run_prologue_pop
            ? task->prologue_callback_pop_arg
            : wrap_prologue(task, &task->prologue_callback_pop_func,
                            &task->prologue_callback_pop_arg, run_prologue_pop,
                            key ^ UINT64_C(1) << PROLOGUE_POP_BIT);

    if (wrapped)
        wrapped->reads = key;
    return wrapped != NULL;
}

static void hold_prologue(struct starpu_task *task, void (**function)(void *), void **argument,
                          unsigned *free_argument, void (*run)(void *), uint64_t key)
{
    if (!*function || !tic_clock_hold_locked(key, *function, *argument, *free_argument))
        return;
    struct wrapped_prologue *wrapped = wrap_prologue(task, function, argument, run, key);
    if (!wrapped)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    wrapped->held = true;
    if (*free_argument)
        wrapped->argument = NULL;
    *free_argument = 0;
}

void tic_callback_hold_prologues(struct starpu_task *task, uint64_t key)
{
    unsigned free_first = task->prologue_callback_arg_free;
    unsigned free_pop = task->prologue_callback_pop_arg_free;

    hold_prologue(task, &task->prologue_callback_func, &task->prologue_callback_arg, &free_first,
                  run_prologue, key ^ UINT64_C(1) << PROLOGUE_BIT);
    hold_prologue(task, &task->prologue_callback_pop_func, &task->prologue_callback_pop_arg,
                  &free_pop, run_prologue_pop, key ^ UINT64_C(1) << PROLOGUE_POP_BIT);
    task->prologue_callback_arg_free = free_first & 1;
    task->prologue_callback_pop_arg_free = free_pop & 1;
}

static void release_start(void *gate)
{
    tic_guard++;
    tic_real.starpu_task_end_dep_release(gate);
    tic_guard--;
}

/* Before it a task that ends when main() has come that far. StarPU would remember it if the
 * application submitted the structure again. */
void tic_callback_hold_start(struct starpu_task *task, uint64_t key)
{
    unsigned bit = task->prologue_callback_func ? PROLOGUE_BIT : PROLOGUE_POP_BIT;

    if ((!task->prologue_callback_func && !task->prologue_callback_pop_func) || !task->destroy)
        return;
    struct starpu_task *gate = tic_task_create();
    if (!gate)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    if (!tic_clock_hold_locked(key ^ UINT64_C(1) << bit, release_start, gate, false)) {
        gate->destroy = 0; /* starpu_task_destroy insists */
        tic_real.starpu_task_destroy(gate);
        return;
    }
    tic_guard++;
    tic_real.starpu_task_end_dep_add(gate, 1);
    tic_real.starpu_task_declare_deps_array(task, 1, &gate);
    tic_guard--;
    tic_task_submit(gate);
}

/* ---- wrapping ------------------------------------------------------------------------------- */

/* StarPU looks into the codelet of a task that has its own array of handles. */
static void make_control(struct starpu_task *task)
{
    task->cl = NULL;
    task->dyn_handles = NULL;
}

bool tic_callback_wrap(struct starpu_task *task, bool control, uint64_t key, bool held)
{
    void (*run)(void *) = held ? NULL : tic_callback_of(task);

    if (!wrap_prologues(task, key))
        return false;
    struct tic_lent *lent = tic_reads_lend(task);
    if (!run && !held && !lent && !(control && (!task->destroy || task->dyn_handles))) {
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
        .control = control,
    };
    wrapped->expected = run && tic_position_expect(key);
    if (run)
        tic_looks_list_small(task, &wrapped->small);
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
