/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/redo.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interpose/arrive.h"
#include "interpose/callback.h"
#include "interpose/callback_redo.h"
#include "interpose/restore_all.h"
#include "interpose/prologue.h"
#include "interpose/prologue_redo.h"
#include "interpose/redo_values.h"
#include "interpose/restore.h"
#include "real/real.h"
#include "recovery/recovery.h"
#include "session/accesses.h"
#include "session/context.h"
#include "session/task.h"

/* ---- tasks that were not done ---------------------------------------------------------------- */

struct queued_task {
    struct starpu_task *task;
    struct tic_submission submission;
    struct tic_accesses accesses;
    uint64_t control; /* its key, if it has no kernel */
    bool reads;       /* and its callbacks do */
};

/* StarPU reads it only while the task is submitted, and the program may free it then. */
static void copy_flags(struct starpu_task *task)
{
    const unsigned char *flags = task->handles_sequential_consistency;
    size_t count = STARPU_TASK_GET_NBUFFERS(task);

    if (flags && count > 0)
        task->handles_sequential_consistency = memcpy(tic_or_stop(malloc(count)), flags, count);
}

/* The context of the thread that submits it. */
static void keep_context(struct starpu_task *task)
{
    unsigned context = tic_real.starpu_sched_ctx_get_context();

    if (task->sched_ctx == STARPU_NMAX_SCHED_CTXS && context != STARPU_NMAX_SCHED_CTXS)
        task->sched_ctx = context;
}

static void submit(struct starpu_task *task, const char *name)
{
    tic_guard++;
    int status = tic_real.starpu_task_submit(task);
    tic_guard--;
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot continue from %s: StarPU does not take task \"%s\": %s",
                 tic_session->store.path, name, strerror(-status));
}

static void play_task(void *arg)
{
    struct queued_task *queued = arg;
    struct starpu_task *task = queued->task;
    const char *name = tic_task_name(task);

    tic_stop_unless(tic_accesses_list(task, &queued->accesses));
    tic_lock(&tic_session->submit);
    enum tic_verdict verdict = tic_admit_undone(task, &queued->submission);
    tic_unlock(&tic_session->submit);
    tic_accesses_drop(&queued->accesses);
    if (verdict != TIC_DROP)
        submit(task, name);
    free(queued);
}

static struct queued_task *describe(struct starpu_task *task,
                                    const struct tic_submission *submission)
{
    struct queued_task *queued = tic_or_stop(malloc(sizeof(*queued)));

    copy_flags(task);
    *queued = (struct queued_task){.task = task, .submission = *submission};
    if (task->synchronous) /* who submits it waits for it when StarPU has it */
        task->synchronous = task->detach = 0;
    queued->submission.accesses = &queued->accesses;
    keep_context(task);
    return queued;
}

static uint8_t use_of(struct starpu_task *task, const struct tic_accesses *accesses, unsigned i)
{
    const unsigned char *flags = task->handles_sequential_consistency;

    if (!task->cl || !task->sequential_consistency || (flags && !flags[i]) ||
        !tic_real.starpu_data_get_sequential_consistency_flag(STARPU_TASK_GET_HANDLE(task, i)))
        return TIC_QUEUED_UNORDERED;
    return accesses->items[i].mode & STARPU_W ? TIC_QUEUED_WRITES : TIC_QUEUED_READS;
}

/* What comes later on this data comes after it. */
static void note_use_locked(struct starpu_task *task, const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].handle)
            tic_redo_keeper(accesses->items[i].handle)->restart.redo.queued |=
                use_of(task, accesses, i);
}

static bool queue_locked(struct queued_task *queued, void (*play)(void *),
                         const struct tic_accesses *accesses)
{
    note_use_locked(queued->task, accesses);
    bool on = tic_replay_queue(play, queued);
    if (!on)
        free(queued);
    return on;
}

static void play_control(void *arg)
{
    struct queued_task *queued = arg;

    tic_lock(&tic_session->submit);
    if (queued->reads)
        tic_data_restore_reads_locked(queued->task);
    bool fine = (!queued->reads || tic_prologue_watch_begin(queued->task, queued->control)) &&
                tic_callback_wrap(queued->task, false, queued->control, false);
    tic_unlock(&tic_session->submit);
    tic_stop_unless(fine);
    submit(queued->task, "a task without a kernel");
    free(queued);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* The begin of one whose callbacks read is that of its last prologue, which it may not have. False:
 * it had not begun. */
static bool redo_begin(const struct starpu_task *task, uint64_t key)
{
    static const struct tic_replay_actor none = {.run = do_nothing};
    uint64_t begin = key ^ TIC_PROLOGUE_POP;

    if (!task->prologue_callback_pop_func)
        tic_replay_add_actor(TIC_HISTORY_CALLBACK, begin, &none, tic_is_owner);
    return tic_replay_has_actor(TIC_HISTORY_CALLBACK, begin);
}

/* As StarPU orders them. */
static bool is_behind(struct starpu_task *task, const struct tic_accesses *accesses, unsigned i)
{
    const struct tic_handle *handle = accesses->items[i].handle;
    const uint8_t queued = handle ? tic_redo_keeper(handle)->restart.redo.queued : 0;

    switch (use_of(task, accesses, i)) {
    case TIC_QUEUED_WRITES:
        return (queued & (TIC_QUEUED_READS | TIC_QUEUED_WRITES)) != 0;
    case TIC_QUEUED_READS:
        return (queued & TIC_QUEUED_WRITES) != 0;
    default:
        return false;
    }
}

bool tic_redo_queue_control_locked(struct starpu_task *task,
                                   const struct tic_submission *submission, bool reads)
{
    const struct tic_accesses *accesses = submission->accesses;
    const uint64_t key = tic_control_key(submission->context);
    bool follows = false;

    if (tic_task_has_prologue(task) && submission->context == TIC_CONTEXT_MAIN)
        follows = tic_prologue_redo(task, key);
    if (reads)
        follows |= !redo_begin(task, key);
    for (unsigned i = 0; i < accesses->count; i++)
        follows |= is_behind(task, accesses, i);
    if (!follows || tic_replay_has_actor(TIC_HISTORY_CALLBACK, key)) /* it had ended */
        return false;
    struct queued_task *queued = describe(task, submission);
    queued->control = key;
    queued->reads = reads;
    return queue_locked(queued, play_control, accesses);
}

/* ---- kernels that write no data -------------------------------------------------------------- */

struct kernel {
    struct tic_redo_user *user;
    struct starpu_task *task;
};

/* StarPU has nothing else that uses its data but what was done, and other kernels. */
static void run_kernel(void *arg)
{
    const struct kernel kernel = *(struct kernel *)arg;

    free(arg);
    tic_redo_make_calls(kernel.user);
    tic_redo_show_kernel(kernel.user, kernel.task);
    submit(kernel.task, tic_task_name(kernel.task));
    tic_redo_note_begun(kernel.user);
}

/* Who waits for the task that the kernel was taken from waits for that, and for all that StarPU
 * does at its end. */
static void end_with(struct starpu_task *task, struct starpu_task *kernel)
{
    atomic_store(&tic_session->snapshot.late_ends, true);
    tic_guard++;
    tic_real.starpu_task_declare_end_deps_array(task, 1, &kernel);
    tic_guard--;
}

/* Of a made history it begins now. */
static void check_made(const struct tic_handle *handle)
{
    if (handle && tic_replay_is_made() &&
        (handle->use.main_writes || handle->use.by_callback.open > 0))
        tic_data_stop_made("when a task that writes no data began, as somebody held what it reads");
}

static enum tic_verdict begin_kernel_locked(struct starpu_task *task,
                                            const struct tic_submission *submission)
{
    const uint64_t key = tic_submission_key(submission);
    const struct tic_accesses *accesses = submission->accesses;
    const bool ended = tic_replay_has_ended(TIC_HISTORY_KERNEL, key);
    struct kernel *kernel = tic_or_stop(malloc(sizeof(*kernel)));

    copy_flags(task);
    if (!ended)
        note_use_locked(task, accesses);
    kernel->user = tic_redo_create_user(key, accesses->count);
    for (unsigned i = 0; i < accesses->count; i++) {
        kernel->user->handles[i] = accesses->items[i].handle;
        check_made(accesses->items[i].handle);
    }
    kernel->user->stays = !ended && tic_redo_keeps_values(task, key);
    enum tic_verdict verdict = tic_skip_kernel(task, key, &kernel->task);
    if (verdict == TIC_CONTROL)
        end_with(task, kernel->task);
    tic_redo_note_user(kernel->user);
    bool fine = tic_callback_wrap(kernel->task, false, key, kernel->task != task);
    if (submission->context == TIC_CONTEXT_MAIN)
        tic_task_mark(kernel->task, (int)submission->sequence + 1);
    else
        fine = fine && tic_admit_register(kernel->task, &submission->spawn);
    const struct tic_replay_actor actor = {
        .begin = run_kernel, .argument = kernel, .stays = kernel->user->stays};
    tic_stop_unless(fine && tic_replay_add_actor(TIC_HISTORY_KERNEL, key, &actor, false));
    atomic_fetch_add_explicit(&tic_session->rerun, 1, memory_order_relaxed);
    return verdict;
}

bool tic_redo_task_locked(struct starpu_task *task, const struct tic_submission *submission,
                          enum tic_verdict *verdict)
{
    const uint64_t key = tic_submission_key(submission);
    bool has_run = tic_replay_has_actor(TIC_HISTORY_KERNEL, key);
    if (tic_task_has_prologue(task))
        tic_prologue_redo(task, key);
    *verdict = TIC_HELD;
    tic_admit_note_valid(submission->accesses);
    if (!has_run)
        return queue_locked(describe(task, submission), play_task, submission->accesses);
    *verdict = begin_kernel_locked(task, submission);
    return true;
}

/* ---- calls on data --------------------------------------------------------------------------- */

bool tic_redo_keeps(void)
{
    return tic_replay_is_on() && tic_guard == 0 && !tic_replay_plays();
}

/* How tasks that are queued use it: TIC_QUEUED_*. */
static uint8_t queued_uses(const struct tic_handle *handle)
{
    tic_lock(&tic_session->submit);
    uint8_t queued = tic_redo_keeper(handle)->restart.redo.queued;
    tic_unlock(&tic_session->submit);
    return queued;
}

bool tic_redo_is_queued(const struct tic_handle *handle)
{
    return handle && queued_uses(handle) != 0;
}

static bool free_unless(bool keeps, struct tic_redo_call *call)
{
    if (!keeps)
        free(call);
    return keeps;
}

bool tic_redo_queue_call(struct tic_handle *handle, void (*play)(void *), const void *argument,
                         size_t size, enum tic_redo_call_kind kind)
{
    if (!handle)
        return false;
    struct tic_redo_call *call = tic_redo_create_call(handle, play, argument, size);
    call->leaves = kind == TIC_REDO_LEAVES;
    const uint8_t before = kind == TIC_REDO_SHARES ? TIC_QUEUED_WRITES : UINT8_MAX;
    return free_unless(queued_uses(handle) & before ? tic_replay_queue(tic_redo_play_call, call)
                                                    : tic_redo_put_off(call),
                       call);
}

bool tic_redo_queue(struct tic_handle *handle, void (*play)(void *), const void *argument,
                    size_t size)
{
    struct tic_redo_call *call = tic_redo_create_call(handle, play, argument, size);

    tic_lock(&tic_session->submit);
    tic_redo_keeper(handle)->restart.redo.queued |= TIC_QUEUED_WRITES;
    tic_unlock(&tic_session->submit);
    return free_unless(tic_replay_queue(tic_redo_play_call, call), call);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* What main() looks at after a wait, and may write then, is there before it comes back. */
static bool names_data(const struct tic_line_entry *entry)
{
    return entry->kind == TIC_HISTORY_VALUE || entry->kind == TIC_HISTORY_RELEASE;
}

/* Of what these entries look at, or give back, sorted. */
static uint64_t *list_ids(const struct tic_line_entry *entries, size_t count, size_t *id_count)
{
    uint64_t *ids = tic_or_stop(calloc(count + 1, sizeof(*ids)));

    *id_count = 0;
    for (size_t i = 0; i < count; i++)
        if (names_data(&entries[i]))
            ids[(*id_count)++] = entries[i].subject;
    tic_sort(ids, *id_count, tic_line_by_number);
    return ids;
}

static void name_data(const struct tic_line_entry *entries, size_t count)
{
    struct tic_graph *graph = &tic_session->graph;
    uint64_t *ids = list_ids(entries, count, &count);

    tic_lock(&tic_session->submit);
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count; i++)
        if (tic_find(&graph->handles[i]->id, ids, count, tic_line_by_number))
            tic_redo_keeper(graph->handles[i])->restart.redo.named = true;
    tic_unlock(&graph->lock);
    tic_unlock(&tic_session->submit);
    free(ids);
}

/* What is held for reading may have been given back by the cut, by a callback that has not come to
 * that: it comes back when all have. */
static bool is_looked_at(const struct tic_handle *handle)
{
    return tic_redo_keeper(handle)->restart.redo.named || tic_redo_is_used(handle) ||
           (atomic_load(&handle->use.holds) > 0 && !handle->use.main_writes);
}

static bool may_look(const struct tic_line_entry *entries, size_t count)
{
    size_t i = 0;

    while (i < count &&
           !(entries[i].kind == TIC_HISTORY_END && entries[i].role == TIC_HISTORY_CALLBACK))
        i++;
    return i < count;
}

static void arrive(const struct tic_line_entry *entries, size_t count)
{
    if (tic_replay_is_made() && may_look(entries, count))
        tic_data_stop_made("what callbacks were still to look at then");
    name_data(entries, count);
    tic_callback_name_looks();
    tic_position_restore(is_looked_at);
}

/* What is played is what the program calls on main()'s thread, which waits meanwhile, or calls
 * nothing. */
static void play(bool begins)
{
    tic_is_owner = begins;
    if (begins) {
        tic_redo_catch_up();
        tic_position_restore(NULL);
    } else {
        tic_session->asking = 0;
    }
}

static bool was_done(uint64_t key)
{
    const struct tic_graph *graph = &tic_session->graph;

    return key & TIC_SPAWN_KEY ? tic_spawns_was_done(&graph->spawns, key)
                               : tic_recovery_is_done(graph, key);
}

/* With VERIFY=0 main() may come back from another wait than it did: results are there before. */
static bool is_left_out(uint32_t role, uint64_t key, bool ended)
{
    if (role == TIC_HISTORY_RESULT)
        return !tic_session_may_look(tic_session) || !was_done(key);
    return !ended && role == TIC_HISTORY_CALLBACK && !(key & TIC_SPAWN_KEY) &&
           (key & (TIC_PROLOGUE_FIRST | TIC_PROLOGUE_POP)) != 0;
}

void tic_redo_start(struct tic_session *session)
{
    const struct tic_history *history = &session->graph.history;
    const struct tic_replay_steps steps = {is_left_out,
                                           arrive,
                                           play,
                                           tic_redo_catch_up,
                                           tic_callback_let_go,
                                           !tic_session_may_look(session) || history->absent,
                                           history->absent,
                                           &session->graph.callbacks_open};

    if (!tic_position_is_ahead())
        return;
    tic_redo_values_start(&session->graph);
    int status = tic_replay_start(history->entries, history->entry_count,
                                  session->graph.recovered.position, &steps);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot start the replay: %s", strerror(-status));
}

void tic_redo_begin(enum tic_replay_operation operation)
{
    tic_replay_begin(atomic_load(&tic_session->graph.position), operation);
}
