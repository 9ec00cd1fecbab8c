/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of StarPU's functions: each only guards, tells a part before and after, and calls
 * the real one. tests/e2e/inert.bats checks this list against what the library exports. */
#include <alloca.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/answers.h"
#include "interpose/digest.h"
#include "interpose/pages.h"
#include "interpose/runner.h"
#include "interpose/tasks.h"

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
    if (!chosen)
        return RESOLVED(starpu_initialize)(conf, argc, argv);
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
    tic_pages_open();
    if (tic_guard > 0)
        return RESOLVED(starpu_initialize)(conf, argc, argv);
    tic_session_enter_life();
    int result = initialize(conf, argc, argv);
    tic_session_count_start(result);
    tic_session_leave_life();
    return result;
}

/* Callbacks that a restart runs apart may be under way. */
static bool has_runners(void)
{
    return tic_session && tic_session->recovered && tic_guard == 0;
}

/* Of a callback that was held back, the task that it was held back from. */
WRAPPER struct starpu_task *starpu_task_get_current(void)
{
    struct starpu_task *task = tic_clock_current_task();

    return task ? task : RESOLVED(starpu_task_get_current)();
}

WRAPPER void starpu_shutdown(void)
{
    tic_pages_open();
    if (has_runners())
        tic_runner_settle(true);
    if (tic_guard > 0) {
        tic_real.starpu_shutdown();
        return;
    }
    tic_session_enter_life();
    bool stops = tic_session_on_shutdown_before();
    tic_guard++;
    RESOLVED(starpu_shutdown)();
    tic_guard--;
    if (stops)
        tic_session_on_shutdown_after();
    tic_session_leave_life();
}

/* ---- the clock of main() -------------------------------------------------------------------- */

/* An operation on data begins: what was held back until then must not wait for its end. */
static void main_comes(void)
{
    if (!tic_session_is_watching() || !tic_session_is_owner())
        return;
    tic_clock_tick();
    tic_clock_release();
}

static void main_has_come(void)
{
    if ((tic_clock_is_due() || tic_early_is_due()) && tic_session_is_watching() &&
        tic_session_is_owner())
        tic_clock_release();
}

/* main() has skipped a task. */
static void main_has_skipped(void)
{
    if (tic_early_holds())
        main_has_come();
    else if (tic_clock_is_due() && tic_session_is_watching() && tic_session_is_owner())
        tic_clock_release_meanwhile();
}

/* main() is about to submit a task. If that runs, or contributes to a reduction, it comes after
 * what callbacks submitted before. */
static void main_submits(struct starpu_task *task)
{
    if (tic_is_owner && tic_clock_lags && tic_session_is_owner() &&
        (tic_redux_concerns(task) || !tic_submit_is_done(task)))
        tic_clock_catch_up();
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

/* What waits for the end of a submission by main() must not wait for its task, too: a synchronous
 * task is submitted first, and then waited for. */
static void wait_for(struct starpu_task *task)
{
    bool stays = !task->destroy;

    tic_redux_after_submit();
    main_has_come();
    tic_looks_enter();
    tic_guard++;
    tic_real.starpu_task_wait(task);
    tic_guard--;
    tic_looks_leave();
    if (stays)
        task->synchronous = 1;
}

static int submit_watched(struct starpu_task *task, bool *skipped)
{
    enum tic_verdict verdict = tic_submit_on_before(task);
    *skipped = verdict == TIC_DROP || (verdict == TIC_CONTROL && !task->synchronous);
    if (verdict == TIC_HELD)
        return 0;
    bool waits = verdict != TIC_DROP && task->synchronous;
    int result = 0;
    if (waits)
        task->synchronous = task->detach = 0;
    if (verdict != TIC_DROP) {
        tic_guard++;
        result = tic_real.starpu_task_submit(task);
        tic_guard--;
        if (tic_session->recovered)
            tic_reads_after_submit(result == 0);
    }
    if (result != 0) { /* else the task may be gone already */
        tic_submit_on_refused(task);
        task->synchronous = waits;
    } else if (waits) {
        wait_for(task);
    }
    return result;
}

WRAPPER int starpu_task_submit(struct starpu_task *task)
{
    tic_pages_open();
    bool ours = tic_session && tic_guard == 0, waits = task->synchronous, skipped = false;

    if (ours) {
        main_submits(task);
        tic_workers_place(task);
    }
    if (ours && tic_redux_concerns(task))
        reduce(task);
    int result = tic_session_is_watching() ? submit_watched(task, &skipped)
                                           : RESOLVED(starpu_task_submit)(task);
    if (!ours)
        return result;
    tic_redux_after_submit();
    if (skipped)
        main_has_skipped();
    else
        main_has_come();
    if (waits) {
        tic_looks_refuse_thread("a synchronous task");
        tic_pages_close("a synchronous task");
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

/* Nothing runs while StarPU is paused, restore tasks neither. */
WRAPPER void starpu_pause(void)
{
    if (tic_session)
        tic_session->paused = true;
    RESOLVED(starpu_pause)();
}

WRAPPER void starpu_resume(void)
{
    if (tic_session)
        tic_session->paused = false;
    RESOLVED(starpu_resume)();
}

WRAPPER int starpu_disk_register(struct starpu_disk_ops *operations, void *parameter,
                                 starpu_ssize_t size)
{
    tic_pages_open();
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
        tic_callback_unwrap(copy);
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

/* Without STARPU_TIC_VERIFY values come back on demand; main() may look at all data when nothing is
 * left to replay. */
static void restore_all(void)
{
    struct tic_session *session = tic_session;

    if (session->settings.verify > 0 || !session->recovered || session->restored_all ||
        !tic_session_is_replayed(session))
        return;
    session->restored_all = true;
    tic_data_restore_all();
}

/* main() begins a call that waits for tasks, after which it may look at data by its pointers;
 * operates: on data, too. */
static void begin_wait(bool operates)
{
    tic_pages_open();
    if (operates)
        main_comes();
    else if (tic_session_is_watching() && tic_session_is_owner()) {
        tic_clock_wait();
        tic_clock_release();
    }
    if (tic_session_is_watching() && tic_session_is_owner()) {
        if (tic_session->settings.verify > 0)
            tic_data_restore_adopted();
        tic_looks_enter();
    }
}

static void end_wait(const char *call)
{
    if (tic_session && tic_guard == 0)
        tic_looks_leave();
    tic_looks_refuse_thread(call);
    tic_pages_close(call);
}

/* Callbacks have returned, too, when their tasks have been waited for. */
WRAPPER int starpu_task_wait(struct starpu_task *task)
{
    begin_wait(false);
    if (has_runners())
        tic_runner_settle(false);
    int result = RESOLVED(starpu_task_wait)(task);
    end_wait("starpu_task_wait");
    return result;
}

/* They may submit tasks. */
static bool settle_all(int result)
{
    return result == 0 && has_runners() && tic_runner_settle(true);
}

#define WAIT_FOR_ALL(name, parameters, arguments)                                                  \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        int result;                                                                                \
        tic_pages_open();                                                                          \
        fold_all();                                                                                \
        begin_wait(false);                                                                         \
        if (tic_session_is_watching() && tic_session_is_owner())                                   \
            restore_all();                                                                         \
        do                                                                                         \
            result = RESOLVED(name) arguments;                                                     \
        while (settle_all(result));                                                                \
        end_wait(#name);                                                                           \
        return result;                                                                             \
    }

WAIT_FOR_ALL(starpu_task_wait_for_all, (void), ())
WAIT_FOR_ALL(starpu_task_wait_for_all_in_ctx, (unsigned context), (context))

#define WAIT(name, parameters, arguments)                                                          \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        begin_wait(false);                                                                         \
        int result = RESOLVED(name) arguments;                                                     \
        end_wait(#name);                                                                           \
        return result;                                                                             \
    }

WAIT(starpu_task_wait_for_n_submitted, (unsigned count), (count))
WAIT(starpu_task_wait_for_n_submitted_in_ctx, (unsigned context, unsigned count), (context, count))
WAIT(starpu_task_wait_for_no_ready, (void), ())
WAIT(starpu_tag_wait, (starpu_tag_t tag), (tag))
WAIT(starpu_tag_wait_array, (unsigned count, starpu_tag_t *tags), (count, tags))

/* ---- questions of main() about tasks, time and the machine ------------------------------------
 */

/* main() is told that there are no such tasks, as then, and may rely on it. Beyond the recovered
 * cut there may be: tasks that are executed again. All had ended without main(). */
static void come_as_far(enum tic_answer call)
{
    if (tic_position_is_ahead() || tic_session->paused)
        return;
    do {
        tic_guard++;
        if (call == TIC_starpu_task_nready)
            tic_real.starpu_task_wait_for_no_ready();
        else
            tic_real.starpu_task_wait_for_all();
        tic_guard--;
    } while (call == TIC_starpu_task_nsubmitted && settle_all(0));
}

/* A count of tasks that the real answer is above. */
static bool is_to_come(enum tic_answer call, int64_t told, int64_t real)
{
    return (call == TIC_starpu_task_nready || call == TIC_starpu_task_nsubmitted) && told == 0 &&
           real > 0;
}

static int64_t bits_of_int(int value)
{
    return value;
}

static int64_t bits_of_starpu_ssize_t(starpu_ssize_t value)
{
    return value;
}

static int64_t bits_of_double(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static int int_of(int64_t bits)
{
    return (int)bits;
}

static starpu_ssize_t starpu_ssize_t_of(int64_t bits)
{
    return (starpu_ssize_t)bits;
}

static double double_of(int64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* main() has waited in a way of its own. */
static void has_waited(const char *call)
{
    if (!tic_session_is_watching())
        return;
    begin_wait(false);
    end_wait(call);
}

/* It may ask as often as it likes, but once for what it has submitted counts, as a restart may ask
 * less often. */
static void told_of_tasks(int64_t left)
{
    static uint64_t before; /* main() only: submissions when it was told last that none is left */
    uint64_t submitted = tic_session ? tic_session->graph.signature.position : 0;

    if (left > 0 || submitted == before)
        return;
    before = submitted;
    has_waited("starpu_task_nsubmitted");
}

/* A program may ask until no task is left. */
static bool main_asks(const void *caller)
{
    if (!tic_answers_are_asked(caller))
        return false;
    if (tic_clock_lags)
        tic_clock_catch_up();
    main_has_come();
    return true;
}

#define ANSWER(number, type, name, parameters, arguments, key)                                     \
    WRAPPER type name parameters                                                                   \
    {                                                                                              \
        bool asked = main_asks(__builtin_return_address(0));                                       \
        tic_guard++;                                                                               \
        type real = RESOLVED(name) arguments;                                                      \
        tic_guard--;                                                                               \
        int64_t bits = bits_of_##type(real);                                                       \
        if (!asked)                                                                                \
            return type##_of(                                                                      \
                tic_answers_elsewhere(TIC_##name, __builtin_return_address(0), bits));             \
        if (tic_answer(TIC_##name, (unsigned)(key), &bits) &&                                      \
            is_to_come(TIC_##name, bits, bits_of_##type(real)))                                    \
            come_as_far(TIC_##name);                                                               \
        tic_answers_told(TIC_##name, bits);                                                        \
        if (TIC_##name == TIC_starpu_task_nsubmitted)                                              \
            told_of_tasks(bits);                                                                   \
        return type##_of(bits);                                                                    \
    }
#include "real/answers.def"
#undef ANSWER

/* main() may use a structure again that it is told is free: then it is. */
static void await_finished(struct starpu_task *task)
{
    tic_guard++;
    while (!RESOLVED(starpu_task_finished)(task))
        sched_yield();
    tic_guard--;
}

/* A restart asks as often. */
WRAPPER int starpu_task_finished(struct starpu_task *task)
{
    bool asked = main_asks(__builtin_return_address(0));
    int real = RESOLVED(starpu_task_finished)(task);
    int64_t told = real;

    if (!asked)
        return real;
    tic_answer(TIC_starpu_task_finished, 0, &told);
    if (told && !real)
        await_finished(task);
    tic_answers_told(TIC_starpu_task_finished, told);
    if (told)
        has_waited("starpu_task_finished");
    return (int)told;
}

/* ---- data ----------------------------------------------------------------------------------- */

/* Reductions that protection took over must be complete, even after it ended. */
static void fold(starpu_data_handle_t data)
{
    if (tic_session && tic_guard == 0 && (tic_session_is_owner() || !tic_session_is_watching()))
        tic_redux_fold(tic_handle_of(data));
}

WRAPPER void starpu_data_register(starpu_data_handle_t *data, int home_node, void *interface,
                                  struct starpu_data_interface_ops *ops)
{
    tic_pages_open();
    bool watching = tic_session_is_watching();
    tic_guard++;
    RESOLVED(starpu_data_register)(data, home_node, interface, ops);
    tic_guard--;
    if (watching)
        tic_data_on_register_after(*data, home_node);
    tic_pages_close("starpu_data_register");
}

WRAPPER void starpu_data_unregister(starpu_data_handle_t data)
{
    tic_pages_open();
    struct tic_return returned =
        tic_digest_before_unregister(tic_session_is_watching() ? tic_handle_of(data) : NULL);

    begin_wait(true);
    fold(data);
    if (tic_session_is_watching())
        tic_data_on_unregister_before(data, true);
    tic_guard++;
    RESOLVED(starpu_data_unregister)(data);
    tic_guard--;
    tic_digest_after_unregister(&returned);
    end_wait("starpu_data_unregister");
}

WRAPPER void starpu_data_unregister_no_coherency(starpu_data_handle_t data)
{
    tic_pages_open();
    if (tic_session_is_watching()) {
        tic_looks_note_left(tic_handle_of(data));
        tic_data_on_unregister_before(data, false);
    }
    tic_guard++;
    RESOLVED(starpu_data_unregister_no_coherency)(data);
    tic_guard--;
    tic_pages_close("starpu_data_unregister_no_coherency");
}

WRAPPER void starpu_data_unregister_submit(starpu_data_handle_t data)
{
    tic_pages_open();
    main_comes();
    fold(data);
    if (tic_session_is_watching())
        tic_data_on_unregister_submit_before(data);
    tic_guard++;
    RESOLVED(starpu_data_unregister_submit)(data);
    tic_guard--;
}

WRAPPER void starpu_data_partition(starpu_data_handle_t data, struct starpu_data_filter *filter)
{
    tic_pages_open();
    main_comes();
    fold(data);
    if (tic_session_is_watching())
        tic_data_on_partition_before(data);
    bool watching = tic_session_is_watching();
    tic_guard++;
    RESOLVED(starpu_data_partition)(data, filter);
    tic_guard--;
    if (watching)
        tic_data_on_partition_after(data);
}

WRAPPER void starpu_data_unpartition(starpu_data_handle_t data, unsigned node)
{
    begin_wait(true);
    bool watching = tic_session_is_watching();
    if (watching)
        tic_data_on_unpartition_before(data);
    tic_guard++;
    RESOLVED(starpu_data_unpartition)(data, node);
    tic_guard--;
    if (watching) {
        tic_data_on_unpartition_after(data);
        tic_digest_after_unpartition(tic_handle_of(data));
    }
    end_wait("starpu_data_unpartition");
}

WRAPPER void starpu_data_partition_plan(starpu_data_handle_t data,
                                        struct starpu_data_filter *filter,
                                        starpu_data_handle_t *parts)
{
    tic_pages_open();
    fold(data);
    tic_guard++;
    RESOLVED(starpu_data_partition_plan)(data, filter, parts);
    tic_guard--;
    if (tic_session_is_watching())
        tic_data_on_plan_after(data, parts,
                               filter->get_nchildren ? filter->get_nchildren(filter, data)
                                                     : filter->nchildren);
}

WRAPPER void starpu_data_partition_clean(starpu_data_handle_t data, unsigned count,
                                         starpu_data_handle_t *parts)
{
    tic_pages_open();
    fold(data);
    if (tic_session_is_watching())
        tic_data_on_clean_before(parts, count);
    tic_guard++;
    RESOLVED(starpu_data_partition_clean)(data, count, parts);
    tic_guard--;
}

/* Switches between planned partitions: they move no content on one memory node, and are not to be
 * taken for accesses. */
#define SWITCH(name, parameters, arguments)                                                        \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        tic_pages_open();                                                                          \
        fold(a);                                                                                   \
        tic_guard++;                                                                               \
        RESOLVED(name) arguments;                                                                  \
        tic_guard--;                                                                               \
    }
#include "real/switches.def"
#undef SWITCH

WRAPPER void starpu_data_set_reduction_methods(starpu_data_handle_t data,
                                               struct starpu_codelet *redux,
                                               struct starpu_codelet *init)
{
    struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;
    if (handle && tic_session_is_owner())
        tic_redux_set_methods(handle, redux, init);
    tic_guard++;
    RESOLVED(starpu_data_set_reduction_methods)(data, redux, init);
    tic_guard--;
}

/* Once there is a session, StarPU holds records of ours only. */
WRAPPER void starpu_data_set_user_data(starpu_data_handle_t data, void *user_data)
{
    if (!tic_session || !tic_data_keep_user_data(data, user_data))
        RESOLVED(starpu_data_set_user_data)(data, user_data);
}

WRAPPER void *starpu_data_get_user_data(starpu_data_handle_t data)
{
    void *found = RESOLVED(starpu_data_get_user_data)(data);
    return tic_session && found ? ((struct tic_handle *)found)->user_data : found;
}

/* StarPU has no value yet that is restored later; with one memory node there is nothing to move. */
#define HINT(name, parameters, arguments)                                                          \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        tic_pages_open();                                                                          \
        struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;        \
        if (handle && handle->pending)                                                             \
            return 0;                                                                              \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        return result;                                                                             \
    }

HINT(starpu_data_fetch_on_node, (starpu_data_handle_t data, unsigned node, unsigned async),
     (data, node, async))
HINT(starpu_data_prefetch_on_node, (starpu_data_handle_t data, unsigned node, unsigned async),
     (data, node, async))
HINT(starpu_data_prefetch_on_node_prio,
     (starpu_data_handle_t data, unsigned node, unsigned async, int priority),
     (data, node, async, priority))
HINT(starpu_data_idle_prefetch_on_node, (starpu_data_handle_t data, unsigned node, unsigned async),
     (data, node, async))
HINT(starpu_data_idle_prefetch_on_node_prio,
     (starpu_data_handle_t data, unsigned node, unsigned async, int priority),
     (data, node, async, priority))

/* A hint; it needs no value. */
WRAPPER void starpu_data_wont_use(starpu_data_handle_t data)
{
    tic_pages_open();
    bool watching = tic_session_is_watching();
    struct tic_handle *handle = watching ? tic_handle_of(data) : NULL;
    if (handle && handle->pending)
        return;
    tic_guard++;
    RESOLVED(starpu_data_wont_use)(data);
    tic_guard--;
}

/* False when StarPU must not know: a value that is restored later is there for us. */
static bool note_invalid(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;
    fold(data);
    if (!handle || !tic_session_is_owner())
        return true;
    handle->invalid = true;
    if (tic_session->recovered && !tic_session_is_replayed(tic_session))
        return false;
    tic_data_on_invalidate_before(handle);
    return true;
}

static void note_valid(starpu_data_handle_t data)
{
    if (tic_session_is_watching() && tic_session_is_owner())
        tic_data_note_valid(tic_handle_of(data));
}

/* Invalid data of main() keeps its last value for us, nobody can tell; other data is freed. */
WRAPPER void starpu_data_invalidate(starpu_data_handle_t data)
{
    tic_pages_open();
    if (!note_invalid(data))
        return;
    tic_guard++;
    RESOLVED(starpu_data_invalidate)(data);
    tic_guard--;
}

WRAPPER void starpu_data_invalidate_submit(starpu_data_handle_t data)
{
    tic_pages_open();
    if (!note_invalid(data))
        return;
    tic_guard++;
    RESOLVED(starpu_data_invalidate_submit)(data);
    tic_guard--;
}

/* StarPU copies by an internal task that its hooks do not show: ours is like the application's. */
WRAPPER int starpu_data_cpy(starpu_data_handle_t to, starpu_data_handle_t from, int asynchronous,
                            void (*callback)(void *), void *arg)
{
    tic_pages_open();
    struct starpu_task *task = tic_session_is_watching()
                                   ? tic_data_copy_task(to, from, asynchronous, callback, arg)
                                   : NULL;
    if (task)
        return starpu_task_submit(task);
    tic_guard++;
    int result = RESOLVED(starpu_data_cpy)(to, from, asynchronous, callback, arg);
    tic_guard--;
    return result;
}

/* ---- acquire and release -------------------------------------------------------------------- */

#define ACQUIRE(name, parameters, arguments)                                                       \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        bool reads = (mode & STARPU_R) != 0, writes = (mode & STARPU_W) != 0;                      \
        begin_wait(true);                                                                          \
        fold(data);                                                                                \
        bool record =                                                                              \
            tic_session_is_watching() && tic_access_on_acquire_before(data, reads, writes, #name); \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        if (writes && result == 0)                                                                 \
            note_valid(data);                                                                      \
        if (record && result == 0)                                                                 \
            tic_access_on_acquire_after(data, reads, writes);                                      \
        if (result == 0 && tic_session_is_watching())                                              \
            tic_access_note_hold(data, true);                                                      \
        if (result == 0 && reads && tic_session_is_watching())                                     \
            tic_digest_after_acquire(tic_handle_of(data));                                         \
        end_wait(#name);                                                                           \
        return result;                                                                             \
    }

ACQUIRE(starpu_data_acquire, (starpu_data_handle_t data, enum starpu_data_access_mode mode),
        (data, mode))
ACQUIRE(starpu_data_acquire_on_node,
        (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode),
        (data, node, mode))

/* Only a success counts as an operation: how often a program tries in vain is a race. */
#define TRY_ACQUIRE(name, really, parameters, arguments)                                           \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        bool watching = tic_session_is_watching();                                                 \
        tic_pages_open();                                                                          \
        main_has_come();                                                                           \
        fold(data);                                                                                \
        switch (watching ? tic_access_replay_try() : TIC_TRY_REALLY) {                             \
        case TIC_TRY_FAIL:                                                                         \
            return -EAGAIN;                                                                        \
        case TIC_TRY_SUCCEED:                                                                      \
            return really arguments;                                                               \
        case TIC_TRY_REALLY:                                                                       \
            break;                                                                                 \
        }                                                                                          \
        bool reads = (mode & STARPU_R) != 0, writes = (mode & STARPU_W) != 0;                      \
        struct tic_handle *handle = watching ? tic_handle_of(data) : NULL;                         \
        if (handle && tic_data_holds_values(handle))                                               \
            tic_data_restore(handle, false);                                                       \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        if (watching)                                                                              \
            tic_access_after_try(result == 0);                                                     \
        if (result != 0)                                                                           \
            return result;                                                                         \
        begin_wait(true);                                                                          \
        if (writes)                                                                                \
            note_valid(data);                                                                      \
        if (watching && tic_access_on_acquire_before(data, reads, writes, #name))                  \
            tic_access_on_acquire_after(data, reads, writes);                                      \
        if (tic_session_is_watching())                                                             \
            tic_access_note_hold(data, true);                                                      \
        end_wait(#name);                                                                           \
        return 0;                                                                                  \
    }

TRY_ACQUIRE(starpu_data_acquire_try, starpu_data_acquire,
            (starpu_data_handle_t data, enum starpu_data_access_mode mode), (data, mode))
TRY_ACQUIRE(starpu_data_acquire_on_node_try, starpu_data_acquire_on_node,
            (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode),
            (data, node, mode))

/* All accesses with a callback end here. */
WRAPPER int starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids
    TIC_ACQUIRE_JOBIDS_PARAMETERS
{
    tic_pages_open();
    fold(data);
    if (tic_session_is_watching() && tic_session_context() != TIC_CONTEXT_STARPU)
        tic_access_on_callback_before(data, mode, &callback, &arg);
    tic_guard++;
    int result = RESOLVED(starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids)
        TIC_ACQUIRE_JOBIDS_ARGUMENTS;
    tic_guard--;
    return result;
}

#define RELEASE(name, parameters, arguments)                                                       \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        tic_pages_open();                                                                          \
        if (tic_session && tic_guard == 0)                                                         \
            tic_access_on_release_first(data);                                                     \
        if (tic_session_is_watching()) {                                                           \
            tic_access_on_release_before(data);                                                    \
            tic_access_note_hold(data, false);                                                     \
        }                                                                                          \
        tic_guard++;                                                                               \
        RESOLVED(name) arguments;                                                                  \
        tic_guard--;                                                                               \
        if (tic_session_is_watching() && tic_session_is_owner())                                   \
            tic_clock_tick();                                                                      \
        main_has_come();                                                                           \
        tic_pages_close(#name);                                                                    \
    }

RELEASE(starpu_data_release, (starpu_data_handle_t data), (data))
RELEASE(starpu_data_release_on_node, (starpu_data_handle_t data, int node), (data, node))

/* ---- not protected yet ---------------------------------------------------------------------- */

#define UNSUPPORTED(type, name, parameters, arguments)                                             \
    WRAPPER type name parameters                                                                   \
    {                                                                                              \
        tic_pages_open();                                                                          \
        if (tic_session_is_watching())                                                             \
            tic_session_unprotect_now(#name, "this call is not protected yet");                    \
        return RESOLVED(name) arguments;                                                           \
    }
#include "real/unsupported.def"
#undef UNSUPPORTED
