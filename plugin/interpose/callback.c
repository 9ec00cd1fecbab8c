/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Task callbacks run as application code. They may run on any thread, also inside our real calls,
 * where calls are otherwise taken for StarPU's own. */
#include "interpose/callback_run.h"
#include "interpose/callback.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "session/context.h"
#include "interpose/callback_redo.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/prologue.h"
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
    struct tic_small small; /* data that the callback may look at */
    bool counted;           /* its task has begun: a quiescent line waits for it */
};

/* Runs it now, or leaves it to be run later. */
static void run_wrapped(struct wrapped_callback *wrapped)
{
    struct starpu_task *task = wrapped->task;
    void (*run)(void *) = wrapped->run;
    void *argument = wrapped->argument;
    uint64_t key = wrapped->key;
    struct tic_small small = wrapped->small;

    /* StarPU has read these fields; the application may submit the structure again. */
    task->callback_func = wrapped->function;
    task->callback_arg = argument;
    task->cl = wrapped->codelet;
    task->dyn_handles = wrapped->dyn_handles;
    free(wrapped);
    if (run && !tic_callback_is_unknown(key) && tic_callback_is_put_off()) {
        tic_lock(&tic_session->submit);
        tic_callback_redo_locked(task, key, &small, false); /* StarPU is at its end */
        tic_unlock(&tic_session->submit);
    } else if (run) {
        tic_looks_note_callback(&small, key);
        tic_callback_begin(key, run, argument);
    }
}

static void run_callback(void *arg)
{
    struct wrapped_callback *wrapped = arg;
    bool counted = wrapped->counted;

    run_wrapped(wrapped);
    if (counted)
        atomic_fetch_sub(&tic_session->graph.callbacks_open, 1);
}

/* ---- tasks that somebody looks at ------------------------------------------------------------ */

/* Of a task that a kernel or a prologue has asked for: its callback_arg is its own from then on. */
struct shown {
    const struct starpu_task *task;
    struct wrapped_callback *wrapped;
    struct shown *next;
};
static struct {
    pthread_mutex_t mutex; /* a leaf */
    struct shown *first;   /* the newest; guarded by mutex. Copies of parallel tasks stay */
} shown = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* It is there. */
static struct shown **find_shown_locked(const struct starpu_task *task)
{
    struct shown **at = &shown.first;

    while ((*at)->task != task)
        at = &(*at)->next;
    return at;
}

static struct wrapped_callback *take_shown(const struct starpu_task *task)
{
    pthread_mutex_lock(&shown.mutex);
    struct shown **at = find_shown_locked(task), *one = *at;
    struct wrapped_callback *wrapped = one->wrapped;
    *at = one->next;
    pthread_mutex_unlock(&shown.mutex);
    free(one);
    return wrapped;
}

/* StarPU runs a callback as of its task. */
static void run_shown(void *arg)
{
    struct wrapped_callback *wrapped = take_shown(tic_real.starpu_task_get_current());

    wrapped->argument = arg;
    run_callback(wrapped);
}

void tic_callback_show(struct starpu_task *task)
{
    if (task->callback_func != run_callback)
        return;
    struct shown *one = tic_or_stop(malloc(sizeof(*one)));
    pthread_mutex_lock(&shown.mutex);
    if (task->callback_func == run_callback) {
        *one = (struct shown){task, task->callback_arg, shown.first};
        shown.first = one;
        one = NULL;
        task->callback_func = run_shown;
        task->callback_arg = shown.first->wrapped->argument;
    }
    pthread_mutex_unlock(&shown.mutex);
    free(one);
}

/* NULL: it has none, or no more. */
static struct wrapped_callback *wrapped_of(const struct starpu_task *task)
{
    if (task->callback_func == run_callback)
        return task->callback_arg;
    if (task->callback_func != run_shown)
        return NULL;
    pthread_mutex_lock(&shown.mutex);
    struct wrapped_callback *wrapped = (*find_shown_locked(task))->wrapped;
    pthread_mutex_unlock(&shown.mutex);
    return wrapped;
}

bool tic_callback_is_there(const struct starpu_task *task)
{
    const struct wrapped_callback *wrapped = wrapped_of(task);

    return wrapped ? wrapped->run : tic_callback_of(task);
}

void tic_callback_note_begin(const struct starpu_task *task)
{
    struct wrapped_callback *wrapped = wrapped_of(task);

    if (wrapped && wrapped->run && !wrapped->counted) {
        wrapped->counted = true;
        atomic_fetch_add(&tic_session->graph.callbacks_open, 1);
    }
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

    if (!tic_prologue_wrap(task, key))
        return false;
    if (!run && !held && !(control && (!task->destroy || task->dyn_handles))) {
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
    };
    if (run)
        tic_looks_list_small(task, &wrapped->small);
    if (run && tic_is_owner)
        tic_session->asking = key + 1;
    task->callback_func = run_callback;
    task->callback_arg = wrapped;
    if (control)
        make_control(task);
    return true;
}

void tic_callback_unwrap(struct starpu_task *copy, const struct starpu_task *task)
{
    const struct wrapped_callback *wrapped = wrapped_of(task);

    tic_prologue_unwrap(copy);
    if (!wrapped)
        return;
    copy->callback_func = wrapped->function;
    copy->callback_arg = wrapped->argument;
    copy->cl = wrapped->codelet;
    copy->dyn_handles = wrapped->dyn_handles;
}
