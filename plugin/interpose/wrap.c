/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of StarPU's functions: each only guards, tells a part before and after, and calls
 * the real one. tests/e2e/inert.bats checks this list against what the library exports. */
#include <alloca.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/callback.h"
#include "session/context.h"
#include "session/kernels.h"
#include "interpose/ending.h"
#include "interpose/hooks.h"
#include "interpose/callback_redo.h"
#include "interpose/callback_run.h"
#include "session/nodes.h"
#include "interpose/looks.h"
#include "report/missed.h"
#include "interpose/pins.h"
#include "interpose/ranks.h"
#include "interpose/redux.h"
#include "interpose/retry.h"
#include "interpose/redo.h"
#include "replay/replay.h"
#include "interpose/session.h"
#include "interpose/skip.h"
#include "interpose/submit.h"
#include "session/task.h"
#include "report/told.h"
#include "interpose/waits.h"
#include "interpose/workers.h"
#include "interpose/writeback.h"
#include "real/real.h"

/* ---- life ----------------------------------------------------------------------------------- */

static char *hide_environment(const char *sched)
{
    char *kept = getenv("STARPU_SCHED") ? strdup(getenv("STARPU_SCHED")) : NULL;
    if (kept && (!sched || strcmp(kept, sched) != 0))
        unsetenv("STARPU_SCHED");
    return kept;
}

static int initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    struct starpu_conf copy;
    const char *sched = NULL;
    struct starpu_conf *chosen = tic_session_on_initialize_before(conf, &copy, &sched);
    if (!chosen) {
        int status = RESOLVED(starpu_initialize)(conf, argc, argv);
        tic_session_require_master(status);
        return status;
    }
    char *kept = hide_environment(sched);
    tic_guard++;
    int result = tic_real.starpu_initialize(chosen, argc, argv);
    tic_guard--;
    if (kept)
        setenv("STARPU_SCHED", kept, 1);
    free(kept);
    tic_session_on_initialize_after(result);
    return result;
}

WRAPPER int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    tic_missed_note_start();
    TIC_LINT(call);
    if (tic_guard > 0)
        return RESOLVED(starpu_initialize)(conf, argc, argv);
    tic_session_enter_life();
    int result = initialize(conf, argc, argv);
    tic_session_count_start(result);
    tic_session_leave_life();
    TIC_LINT(goes_on, NULL, false);
    return result;
}

/* Of a callback that runs apart from its task, that task, but not to StarPU, which sets it anew
 * after other callbacks; of a kernel on another worker, its own. */
WRAPPER struct starpu_task *starpu_task_get_current(void)
{
    const bool for_starpu = tic_answers_are_starpu(__builtin_return_address(0));
    struct starpu_task *task = for_starpu ? NULL : tic_callback_current_task();

    if (task)
        return task;
    task = tic_acting.task ? tic_acting.task : RESOLVED(starpu_task_get_current)();
    if (task && !for_starpu) /* it is not at its end */
        tic_callback_show(task);
    return task;
}

WRAPPER void starpu_shutdown(void)
{
    TIC_LINT(call);
    if (tic_guard > 0) {
        tic_real.starpu_shutdown();
        return;
    }
    tic_session_enter_life();
    bool stops = tic_session_on_shutdown_before();
    if (stops) {
        tic_replay_await_callbacks();
        tic_pins_end();
    }
    tic_guard++;
    RESOLVED(starpu_shutdown)();
    tic_guard--;
    if (stops)
        tic_session_on_shutdown_after();
    tic_session_leave_life();
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void reduce(struct starpu_task *task)
{
    const char *why = tic_redux_on_submit(task);

    if (why)
        tic_session_unprotect_now(tic_task_name(task), why);
    if (why && !tic_session_is_watching())
        tic_redux_on_submit(task); /* what is open must still be folded */
}

/* A synchronous task that was submitted as another one. */
static void await_submitted(struct starpu_task *task)
{
    bool stays = !task->destroy;

    tic_guard++;
    tic_real.starpu_task_wait(task);
    tic_guard--;
    tic_callback_await(task);
    if (stays)
        task->synchronous = 1;
}

/* The same of one that the replay has queued: not main()'s, who is at the cut then. */
static void await_queued(struct starpu_task *task)
{
    tic_replay_await_end();
    await_submitted(task);
}

/* What waits for the end of a submission by main() must not wait for its task, too: a synchronous
 * task is submitted first, and then waited for. */
static void wait_for(struct starpu_task *task)
{
    bool is_main = tic_session_is_owner();
    uint64_t position = atomic_load(&tic_session->graph.position);

    tic_redux_after_submit();
    tic_looks_enter();
    if (is_main)
        tic_replay_await(position);
    await_submitted(task);
    if (is_main)
        tic_main_returns();
}

/* StarPU has the task, or does not need it. */
static void end_asking(void)
{
    if (!tic_is_owner)
        return;
    tic_session->asking = 0;
    tic_replay_run_inside();
}

static int submit_watched(struct starpu_task *task, const void *frame)
{
    bool waits = task->synchronous;
    enum tic_verdict verdict = tic_submit_on_before(task);
    if (verdict == TIC_HELD) {
        end_asking();
        if (waits)
            await_queued(task);
        return 0;
    }
    waits = verdict != TIC_DROP && task->synchronous;
    bool held = verdict == TIC_PASS && tic_lint.wait_begins && tic_lint.wait_begins(task, frame);
    int result = 0;
    if (waits) {
        task->synchronous = task->detach = 0;
        if (tic_session_is_owner())
            TIC_LINT(wait_begins, NULL, frame); /* before the task can write anything */
    }
    if (verdict != TIC_DROP) {
        tic_guard++;
        result = tic_real.starpu_task_submit(task);
        tic_guard--;
    }
    end_asking();
    if (result != 0) { /* else the task may be gone already */
        tic_submit_on_refused(task);
        task->synchronous = waits;
    } else if (waits) {
        wait_for(task);
    }
    if (waits)
        TIC_LINT(wait_ends, false);
    if (held)
        TIC_LINT(wait_ends, true);
    return result;
}

/* Protection may end, on another thread, while this one contributes to a reduction. Tasks that wait
 * for that must not wait for the end of this one. */
static int submit_unwatched(struct starpu_task *task)
{
    if (!task->synchronous || !tic_redux_is_contributing())
        return RESOLVED(starpu_task_submit)(task);
    task->synchronous = task->detach = 0;
    int result = RESOLVED(starpu_task_submit)(task);
    tic_redux_after_submit();
    if (result == 0)
        await_submitted(task);
    else
        task->synchronous = 1;
    return result;
}

/* StarPU tells of the end of a task before it has done with the structure. Tasks without a kernel
 * end inside of each other, as in a restart tasks do whose kernels are executed apart: then it is
 * long before. main() may submit it again by then. */
static void await_end(struct starpu_task *task)
{
    if (task->status == STARPU_TASK_FINISHED && task->starpu_private && tic_session_is_watching() &&
        atomic_load(&tic_session->rerun) > 0 && tic_session_is_owner() &&
        tic_session_context() == TIC_CONTEXT_MAIN)
        tic_task_await_end(task);
}

WRAPPER int starpu_task_submit(struct starpu_task *task)
{
    TIC_LINT(call);
    await_end(task);
    bool ours = tic_session && tic_guard == 0, waits = task->synchronous;
    const bool calls = tic_task_runs_nowhere(task) || task->prologue_callback_func;

    tic_callback_note_call(calls);
    if (tic_guard == 0)
        tic_retry_note_submission();
    if (ours)
        tic_workers_place(task);
    if (ours && tic_redux_concerns(task)) {
        if (tic_session_is_watching() && tic_session_is_owner())
            tic_redo_begin(TIC_REPLAY_SUBMITS); /* the queue comes first */
        reduce(task);
    }
    int result = tic_session_is_watching() ? submit_watched(task, __builtin_dwarf_cfa())
                                           : submit_unwatched(task);
    tic_callback_end_call(calls);
    if (!ours)
        return result;
    tic_redux_after_submit();
    if (waits) {
        tic_looks_refuse_thread("a synchronous task");
        TIC_LINT(goes_on, "a synchronous task", true);
    }
    return result;
}

/* StarPU 1.3 leaves the end of the buffer as it was: arguments that are equal must look equal. */
WRAPPER void starpu_codelet_pack_arg_fini(struct starpu_codelet_pack_arg_data *state, void **cl_arg,
                                          size_t *cl_arg_size)
{
    size_t used = state->current_offset;
    RESOLVED(starpu_codelet_pack_arg_fini)(state, cl_arg, cl_arg_size);
    if (tic_session && *cl_arg && used < *cl_arg_size)
        memset((char *)*cl_arg + used, 0, *cl_arg_size - used);
}

/* Others name these tasks: they must enter StarPU even if they are done. */
static void note_named(unsigned count, struct starpu_task *array[])
{
    for (unsigned i = 0; i < count && tic_session_is_watching(); i++)
        if (array[i]->hypervisor_tag == 0)
            array[i]->hypervisor_tag = TIC_TAG_HAS_DEPENDENCIES;
}

WRAPPER void starpu_task_declare_deps_array(struct starpu_task *task, unsigned count,
                                            struct starpu_task *array[])
{
    note_named(1, &task);
    note_named(count, array);
    RESOLVED(starpu_task_declare_deps_array)(task, count, array);
}

static void note_late_ends(void)
{
    if (tic_session)
        atomic_store_explicit(&tic_session->snapshot.late_ends, true, memory_order_relaxed);
}

WRAPPER void starpu_task_end_dep_add(struct starpu_task *task, int count)
{
    note_late_ends();
    RESOLVED(starpu_task_end_dep_add)(task, count);
}

WRAPPER void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned count,
                                                struct starpu_task *array[])
{
    note_named(count, array);
    note_late_ends();
    RESOLVED(starpu_task_declare_end_deps_array)(task, count, array);
}

/* What kernels declare would be lost with them when they are skipped. */
WRAPPER void starpu_tag_declare_deps_array(starpu_tag_t tag, unsigned count, starpu_tag_t *array)
{
    if (tic_session_is_watching() && tic_session_context() == TIC_CONTEXT_TASK)
        tic_session_unprotect("starpu_tag_declare_deps",
                              "dependencies of tags that tasks declare are not protected yet");
    RESOLVED(starpu_tag_declare_deps_array)(tag, count, array);
}

WRAPPER void starpu_tag_declare_deps(starpu_tag_t tag, unsigned count, ...)
{
    /* As large as the arguments, which are on the stack, too. */
    starpu_tag_t *array = alloca((count + 1) * sizeof(*array));
    va_list tags;

    va_start(tags, count);
    for (unsigned i = 0; i < count; i++)
        array[i] = va_arg(tags, starpu_tag_t);
    va_end(tags);
    starpu_tag_declare_deps_array(tag, count, array);
}

WRAPPER void starpu_tag_notify_from_apps(starpu_tag_t tag)
{
    tic_callback_note_call(true);
    RESOLVED(starpu_tag_notify_from_apps)(tag);
    tic_callback_end_call(true);
}

WRAPPER void starpu_task_end_dep_release(struct starpu_task *task)
{
    tic_callback_note_call(true);
    RESOLVED(starpu_task_end_dep_release)(task);
    tic_callback_end_call(true);
}

/* Nothing runs while StarPU is paused, restore tasks neither. */
WRAPPER void starpu_pause(void)
{
    if (tic_session)
        tic_session->paused = true;
    RESOLVED(starpu_pause)();
}

WRAPPER void starpu_resume(void)
{
    const bool ahead = tic_session && tic_position_is_ahead();

    /* Until here main() may look at what tasks have left; then, in a restart, nothing has run. */
    if (tic_session && !ahead)
        tic_wait_has_been("starpu_resume");
    if (tic_session)
        tic_session->paused = false;
    RESOLVED(starpu_resume)();
    if (ahead)
        tic_wait_has_been("starpu_resume");
}

WRAPPER int starpu_disk_register(struct starpu_disk_ops *operations, void *parameter,
                                 starpu_ssize_t size)
{
    TIC_LINT(call);
    if (tic_session_is_watching())
        tic_session_stop_watching("starpu_disk_register",
                                  "data on disks (more than one memory node) is not protected yet");
    return RESOLVED(starpu_disk_register)(operations, parameter, size);
}

/* The application's copy of a task that is submitted already is a task of its own. StarPU's copies
 * are parts of a parallel task. */
WRAPPER struct starpu_task *starpu_task_dup(struct starpu_task *task)
{
    struct starpu_task *copy = RESOLVED(starpu_task_dup)(task);
    if (copy && tic_session_is_watching() && tic_session_context() != TIC_CONTEXT_STARPU) {
        copy->hypervisor_tag = 0;
        tic_callback_unwrap(copy, task);
    }
    return copy;
}

WRAPPER void starpu_sched_ctx_set_inheritor(unsigned context, unsigned inheritor)
{
    if (tic_session_is_watching() && !tic_hooks_cover_context(inheritor))
        tic_session_unprotect("starpu_sched_ctx_set_inheritor",
                              "scheduling contexts without a policy are not protected yet");
    RESOLVED(starpu_sched_ctx_set_inheritor)(context, inheritor);
}

/* StarPU would remember tasks that fold later as predecessors of a structure that is submitted
 * again. */
static void fold_all(void)
{
    if (tic_session && tic_guard == 0 && tic_session_is_owner())
        tic_redux_fold_all();
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* Callbacks have returned, too, when their tasks have been waited for. */
WRAPPER int starpu_task_wait(struct starpu_task *task)
{
    bool stays = !task->destroy && tic_session_is_watching();

    tic_wait_begin(false);
    int result = RESOLVED(starpu_task_wait)(task);
    tic_callback_await(task);
    if (stays)
        tic_hooks_end_waited(task);
    tic_wait_end("starpu_task_wait");
    return result;
}

/* StarPU's waits may wait by another one of these: that is no step of main(). */
#define WAIT_FOR_ALL(name, parameters, arguments)                                                  \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        int result;                                                                                \
        TIC_LINT(call);                                                                            \
        fold_all();                                                                                \
        tic_wait_begin(false);                                                                     \
        if (tic_session_is_watching() && tic_session_is_owner())                                   \
            tic_wait_restore_all();                                                                \
        do {                                                                                       \
            tic_guard++;                                                                           \
            result = RESOLVED(name) arguments;                                                     \
            tic_guard--;                                                                           \
        } while (tic_wait_settle_all(result));                                                     \
        if (tic_nodes_several && tic_session_is_watching())                                        \
            tic_writeback_settle();                                                                \
        tic_pins_settle();                                                                         \
        tic_ranks_settle(__builtin_return_address(0));                                             \
        tic_wait_end(#name);                                                                       \
        return result;                                                                             \
    }

WAIT_FOR_ALL(starpu_task_wait_for_all, (void), ())
WAIT_FOR_ALL(starpu_task_wait_for_all_in_ctx, (unsigned context), (context))

#define WAIT(name, parameters, arguments)                                                          \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        tic_wait_begin(false);                                                                     \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        tic_wait_end(#name);                                                                       \
        return result;                                                                             \
    }

/* StarPU calls it within submissions, too, if STARPU_LIMIT_MAX_SUBMITTED_TASKS is set. That is no
 * wait of main(), which must not wait for tasks that wait for it. */
static int throttle(unsigned count)
{
    return tic_replay_is_on() || tic_task_is_submitting()
               ? 0
               : RESOLVED(starpu_task_wait_for_n_submitted)(count);
}

WRAPPER int starpu_task_wait_for_n_submitted(unsigned count)
{
    if (tic_answers_are_starpu(__builtin_return_address(0)))
        return throttle(count);
    tic_wait_begin(false);
    int result = RESOLVED(starpu_task_wait_for_n_submitted)(count);
    tic_wait_end("starpu_task_wait_for_n_submitted");
    return result;
}

WAIT(starpu_task_wait_for_n_submitted_in_ctx, (unsigned context, unsigned count), (context, count))
WAIT(starpu_task_wait_for_no_ready, (void), ())
WAIT(starpu_tag_wait, (starpu_tag_t tag), (tag))
WAIT(starpu_tag_wait_array, (unsigned count, starpu_tag_t *tags), (count, tags))

/* ---- not protected yet ---------------------------------------------------------------------- */

#define UNSUPPORTED(type, name, parameters, arguments)                                             \
    WRAPPER type name parameters                                                                   \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        if (tic_session_is_watching())                                                             \
            tic_session_unprotect_now(#name, "this call is not protected yet");                    \
        return RESOLVED(name) arguments;                                                           \
    }
#include "real/unsupported.def"
#undef UNSUPPORTED
