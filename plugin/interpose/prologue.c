/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prologues run as application code on any thread, before their task: prologue_callback_func when
 * it is ready, the one of pop when a worker has taken it. They may change what kernels use, and
 * read what their task declares: that is logged, and shown to them again. When they come in a
 * restart tells prologue_redo.c. */
#include "interpose/prologue.h"

#include <stdlib.h>

#include "base/error.h"
#include "session/accesses.h"
#include "session/lookup.h"
#include "session/context.h"
#include "interpose/callback_redo.h"
#include "interpose/callback_run.h"
#include "interpose/reads.h"
#include "replay/replay.h"
#include "session/nodes.h"
#include "session/task.h"
#include "snapshot/extending.h"

static void run_prologue(void *arg);
static void run_prologue_pop(void *arg);

struct tic_prologue_place tic_prologue_place_of_first(struct starpu_task *task)
{
    return (struct tic_prologue_place){&task->prologue_callback_func, &task->prologue_callback_arg,
                                       run_prologue, TIC_PROLOGUE_FIRST};
}

struct tic_prologue_place tic_prologue_place_of_pop(struct starpu_task *task)
{
    return (struct tic_prologue_place){&task->prologue_callback_pop_func,
                                       &task->prologue_callback_pop_arg, run_prologue_pop,
                                       TIC_PROLOGUE_POP};
}

static bool is_wrapped(const struct tic_prologue_place *place)
{
    return *place->function == place->run;
}

/* ---- what they read -------------------------------------------------------------------------- */

/* One of a task with a kernel, which main() has submitted. */
static bool may_read(const struct starpu_task *task, uint64_t key)
{
    return tic_session->settings.pointers != TIC_POINTERS_TRUST && !(key & TIC_SPAWN_KEY) &&
           !tic_task_runs_nowhere(task);
}

static bool reads_any(const struct tic_accesses *accesses)
{
    unsigned i = 0;

    while (i < accesses->count && !(accesses->items[i].mode & STARPU_R &&
                                    tic_handle_has_content(accesses->items[i].handle)))
        i++;
    return i < accesses->count;
}

const char *tic_prologue_refuse(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    return tic_task_has_prologue(task) && tic_session->settings.pointers != TIC_POINTERS_TRUST &&
                   reads_any(accesses)
               ? "a task, a callback or another thread submits it, and its prologue may read data "
                 "that it declares; this is not protected yet. STARPU_TIC_POINTERS=trust is the "
                 "promise that it does not"
               : NULL;
}

static void log_reads(const struct tic_wrapped_prologue *wrapped, bool second)
{
    uint64_t key = wrapped->key & ~(TIC_PROLOGUE_FIRST | TIC_PROLOGUE_POP);

    bool logs = tic_task_runs_nowhere(wrapped->task) ? wrapped->logs : may_read(wrapped->task, key);

    if (second || !logs || !tic_session_watches())
        return;
    tic_extension_stop(&tic_session->snapshot);
    tic_reads_log_before(wrapped->task, tic_prologue_key_of_reads(key),
                         tic_snapshot_epoch(&tic_session->snapshot));
}

/* ---- running --------------------------------------------------------------------------------- */

static void begin_prologue(const struct tic_wrapped_prologue *wrapped, bool second)
{
    if (wrapped->reads)
        tic_nowhere_begin(wrapped->task, wrapped->reads);
    if (wrapped->held || !wrapped->function)
        return;
    log_reads(wrapped, second);
    tic_callback_begin(wrapped->key, wrapped->function, wrapped->argument);
}

static void begin_kept(void *arg)
{
    const struct tic_wrapped_prologue wrapped = *(struct tic_wrapped_prologue *)arg;
    struct starpu_task *outer = tic_callback_set_current(wrapped.task);

    free(arg);
    begin_prologue(&wrapped, false);
    tic_callback_set_current(outer);
}

/* Until the queue is played. A task without a kernel ends when this returns. */
static bool is_put_off(const struct tic_wrapped_prologue *wrapped)
{
    return !wrapped->held && tic_callback_is_put_off() && !tic_task_runs_nowhere(wrapped->task);
}

static void run_prologue(void *arg)
{
    struct tic_wrapped_prologue *wrapped = arg;

    wrapped->task->prologue_callback_func = wrapped->function;
    wrapped->task->prologue_callback_arg = wrapped->argument;
    if (is_put_off(wrapped) && tic_replay_keep_call(begin_kept, wrapped))
        return;
    begin_prologue(wrapped, false);
    free(wrapped);
}

/* On a worker. */
static void run_prologue_pop(void *arg)
{
    struct tic_wrapped_prologue wrapped = *(struct tic_wrapped_prologue *)arg;

    free(arg);
    wrapped.task->prologue_callback_pop_func = wrapped.function;
    wrapped.task->prologue_callback_pop_arg = wrapped.argument;
    if (is_put_off(&wrapped))
        tic_replay_await_end();
    begin_prologue(&wrapped, wrapped.task->prologue_callback_func != NULL);
}

/* ---- wrapping -------------------------------------------------------------------------------- */

struct tic_wrapped_prologue *tic_prologue_wrap_one(struct starpu_task *task,
                                                   const struct tic_prologue_place *place,
                                                   uint64_t key)
{
    struct tic_wrapped_prologue *wrapped = malloc(sizeof(*wrapped));

    if (!wrapped)
        return NULL;
    *wrapped = (struct tic_wrapped_prologue){.task = task,
                                             .function = *place->function,
                                             .argument = *place->argument,
                                             .key = key ^ place->bit};
    *place->function = place->run;
    *place->argument = wrapped;
    return wrapped;
}

static struct tic_wrapped_prologue *wrap_once(struct starpu_task *task,
                                              const struct tic_prologue_place *place, uint64_t key)
{
    return is_wrapped(place) ? *place->argument : tic_prologue_wrap_one(task, place, key);
}

/* Where nothing is logged. */
static void tell(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (tic_session->settings.pointers == TIC_POINTERS_TRUST || tic_session->report ||
        !tic_nodes_several || tic_task_runs_nowhere(task) || STARPU_TASK_GET_NBUFFERS(task) == 0 ||
        atomic_load_explicit(&told, memory_order_relaxed) || atomic_exchange(&told, true))
        return;
    tic_log(
        TIC_LOG_WARN,
        "task \"%s\" has a prologue, and what it reads is not logged; starpu-tic explain prologue",
        tic_task_name(task));
}

bool tic_prologue_wrap(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);

    if (*first.function || *pop.function)
        tell(task);
    return (!*first.function || wrap_once(task, &first, key)) &&
           (!*pop.function || wrap_once(task, &pop, key));
}

bool tic_prologue_watch_begin(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);
    struct tic_wrapped_prologue *wrapped = wrap_once(task, &pop, key),
                                *before = *first.function ? wrap_once(task, &first, key) : NULL;

    if (!wrapped || (*first.function && !before))
        return false;
    if (before)
        before->logs = true;
    wrapped->reads = key;
    return true;
}

static void unwrap(const struct tic_prologue_place *place)
{
    if (!is_wrapped(place))
        return;
    const struct tic_wrapped_prologue *wrapped = *place->argument;
    *place->function = wrapped->function;
    *place->argument = wrapped->argument;
}

void tic_prologue_unwrap(struct starpu_task *copy)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(copy),
                                    pop = tic_prologue_place_of_pop(copy);

    unwrap(&first);
    unwrap(&pop);
}
