/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Submissions: identity and signature; tasks that run get their values, done ones are skipped. */
#include "interpose/submit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/words.h"
#include "session/accesses.h"
#include "session/builds.h"
#include "interpose/admit.h"
#include "interpose/answers.h"
#include "interpose/arrive.h"
#include "interpose/callback.h"
#include "interpose/callback_redo.h"
#include "session/context.h"
#include "interpose/ending.h"
#include "interpose/exclude.h"
#include "interpose/hooks.h"
#include "interpose/looks_replay.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "session/nodes.h"
#include "interpose/reads.h"
#include "session/packed.h"
#include "session/ranks.h"
#include "interpose/prologue.h"
#include "interpose/redo.h"
#include "report/unprotected.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/resubmit.h"
#include "interpose/skip.h"
#include "interpose/spawn.h"
#include "interpose/typed.h"
#include "session/task.h"
#include "session/uses.h"
#include "interpose/writeback.h"
#include "real/real.h"
#include "recovery/recovery.h"
#include "snapshot/extending.h"
#include "snapshot/ranks.h"

/* ---- identity ------------------------------------------------------------------------------- */

/* What the submission is: codelet, modes, handles and their sizes; not the arguments. */
static uint64_t fingerprint(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    const char *name = tic_task_identity(task);
    uint64_t fold = XXH3_64bits(name, strlen(name));

    for (unsigned i = 0; i < accesses->count; i++) {
        const struct tic_handle *handle = accesses->items[i].handle;
        enum starpu_data_access_mode mode = accesses->items[i].mode;
        if (handle->use.accumulates) /* whether its writes commute can be a race: redux.c */
            mode &= ~(unsigned)STARPU_COMMUTE;
        uint64_t words[4] = {fold, handle->id, (uint64_t)mode, handle->signed_size};
        fold = tic_words_hash(words, 4, 0);
    }
    return fold;
}

static void stop_diverged(struct starpu_task *task)
{
    char handles[256] = "";
    size_t used = 0;
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers && used < sizeof(handles); i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        used += (size_t)snprintf(handles + used, sizeof(handles) - used, "%s%llu", i ? ", " : "",
                                 (unsigned long long)handle->id);
    }
    tic_stop(TIC_EXIT_DIVERGED,
             "the replay differs from the recorded run: submission %llu is now task \"%s\" on "
             "handles %s (numbers of registration), and was another one. Nothing was overwritten: "
             "the recovery lines in %s are untouched. Protected programs must submit the same "
             "tasks when they are started again",
             (unsigned long long)tic_session->graph.signature.position, tic_task_name(task),
             handles[0] ? handles : "(none)", tic_session->store.path);
}

static void stop_other_arguments(const struct starpu_task *task)
{
    tic_stop(
        TIC_EXIT_DIVERGED,
        "the replay differs from the recorded run: submission %llu, task \"%s\", has other "
        "arguments (STARPU_VALUE) than it had, so it may be another task that is done. Nothing "
        "was overwritten: the recovery lines in %s are untouched. Protected programs must "
        "submit the same tasks in the same order when they are started again. If what differs "
        "does not matter to results (a time, say), STARPU_TIC_ARGUMENTS=ignore goes on",
        (unsigned long long)tic_session->graph.signature.position, tic_task_name(task),
        tic_session->store.path);
}

static void stop_beyond_point(const struct starpu_task *task)
{
    tic_stop(
        TIC_EXIT_DIVERGED,
        "the replay differs from the recorded run: main() had submitted %llu tasks when it came "
        "to its first commit point (starpu_tic_commit_point), and submits more before that "
        "now: task \"%s\". Nothing was overwritten: the recovery lines in %s are untouched",
        (unsigned long long)tic_session->graph.recovered.point.task, tic_task_name(task),
        tic_session->store.path);
}

static void note_skipped(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_W)
            tic_looks_note_skipped_locked(accesses->items[i].handle);
}

/* Before a task without a kernel, which needs no values. */
static void prepare_buffers(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++) {
        struct tic_handle *handle = accesses->items[i].handle;
        if (handle && tic_session->recovered && accesses->items[i].mode & STARPU_R)
            tic_data_make_readable_locked(handle);
        if (handle && accesses->items[i].mode & STARPU_W)
            tic_data_note_valid(handle);
    }
}

/* Identity and signature. 1 done at the recovered cut, 0 not; or tells why it is not protected. */
static int identify(struct starpu_task *task, struct tic_submission *submission, const char **why)
{
    struct tic_session *session = tic_session;
    struct tic_graph *graph = &session->graph;
    uint64_t content = fingerprint(task, submission->accesses);

    if (submission->context != TIC_CONTEXT_MAIN) {
        if (submission->context == TIC_CONTEXT_THREAD)
            atomic_store(&graph->threads, atomic_load(&graph->position) + 1);
        *why = tic_spawn_identify(task, submission->context, content, &submission->spawn);
        atomic_fetch_add_explicit(&session->spawned, 1, memory_order_relaxed);
        return !*why && !submission->spawn.kept &&
               tic_spawns_is_done(&graph->spawns, submission->spawn.task.id);
    }
    submission->sequence = graph->signature.position;
    if (__builtin_expect(graph->recovered.point.number != 0, 0) &&
        submission->sequence >= graph->recovered.point.task)
        stop_beyond_point(task);
    tic_spawn_note_main(submission->sequence);
    int status = tic_signature_submit(&graph->signature, content, tic_packed_values(task));
    if (status == -EILSEQ)
        stop_diverged(task);
    if (status == -EINVAL)
        stop_other_arguments(task);
    bool goes = task->destroy && task->detach; /* else main() may ask for it */
    bool noted = goes || tic_answers_note_task_locked(task, submission->sequence);
    if (status || !noted)
        *why = "out of memory";
    return status == 0 && session->recovered && tic_recovery_is_done(graph, submission->sequence);
}

static enum tic_verdict pass_control(struct starpu_task *task,
                                     const struct tic_submission *submission, bool reads,
                                     const char **why)
{
    uint64_t key = tic_control_key(submission->context);

    if (reads && tic_session->recovered)
        tic_data_restore_reads_locked(task);
    if ((reads && !tic_prologue_watch_begin(task, key)) ||
        !tic_callback_wrap(task, false, key, false))
        *why = "out of memory";
    return TIC_PASS;
}

/* In a restart that redoes its history. */
static enum tic_verdict redo_control(struct starpu_task *task,
                                     const struct tic_submission *submission, bool reads,
                                     const char **why)
{
    if (tic_redo_queue_control_locked(task, submission, reads))
        return TIC_HELD;
    const uint64_t key = tic_control_key(submission->context);
    const bool open = tic_callback_begin_open_locked(task, key);
    if (!tic_callback_wrap(task, false, key, open))
        *why = "out of memory";
    return TIC_PASS;
}

static void note_main_uses(const struct tic_accesses *accesses, uint64_t sequence)
{
    for (unsigned i = 0; i < accesses->count; i++) {
        tic_data_note_main_use(accesses->items[i].handle, (accesses->items[i].mode & STARPU_W) != 0,
                               sequence + 1);
    }
}

static const char why_blind[] =
    "it declares no data, and messages come into memory of main(), which it could read: a restart "
    "would execute it again before they are back. It must declare what it reads; starpu-tic "
    "explain no-data";

/* Of several ranks; guarded by the submission lock. */
static struct {
    bool fills;    /* messages come into memory of main() */
    char task[64]; /* the first that declares no data, and that a restart executes again; or "" */
} blind;

static const char *refuse_blind(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    if (!tic_ranks_library() || !tic_accesses_declare_nothing(accesses) ||
        !tic_marks_runs_again(task) || tic_session->settings.pointers == TIC_POINTERS_TRUST)
        return NULL;
    if (!blind.task[0])
        snprintf(blind.task, sizeof(blind.task), "%s", tic_task_name(task));
    return blind.fills ? why_blind : NULL;
}

const char *tic_submit_refuse_message_locked(const struct tic_handle *handle, const char **task)
{
    blind.fills |= handle->home_node >= 0;
    *task = blind.task;
    return blind.fills && blind.task[0] ? why_blind : NULL;
}

/* Where order is a race, another run need not come to the same values in between. */
static void note_races(const struct starpu_task *task, const struct tic_accesses *accesses,
                       enum tic_context context)
{
    bool racy = context != TIC_CONTEXT_MAIN || tic_session->explicit_dependencies ||
                accesses->modes & STARPU_COMMUTE;

    if (!racy || atomic_load_explicit(&tic_session->racy, memory_order_relaxed))
        return;
    tic_extension_start(&tic_session->snapshot);
    tic_snapshot_note_race(&tic_session->snapshot, tic_task_name(task),
                           "its order is not the same in each run");
    atomic_store_explicit(&tic_session->racy, true, memory_order_relaxed);
}

/* Only the owner thread changes the position. */
static bool is_next_done(const struct starpu_task *task)
{
    const struct tic_graph *graph = &tic_session->graph;

    return !tic_task_runs_nowhere(task) && tic_recovery_is_done(graph, graph->signature.position);
}

/* Nothing to skip, nothing to save. */
static enum tic_verdict decide_nowhere(struct starpu_task *task,
                                       const struct tic_submission *submission, const char **why)
{
    if (task->cl)
        prepare_buffers(submission->accesses);
    bool reads = !*why && tic_nowhere_reads(task, submission->accesses);
    if (reads)
        *why = tic_nowhere_refuse(submission->accesses);
    if (!*why && submission->context == TIC_CONTEXT_TASK && tic_callback_has_any(task))
        *why = "a kernel submits it, it has no kernel, and a restart that skips that kernel would "
               "not call its callback";
    if (*why)
        return TIC_PASS;
    TIC_LINT(submitted, task, submission->accesses, submission->context, 0);
    if (reads)
        tic_nowhere_note(submission->accesses);
    return tic_replay_is_on() ? redo_control(task, submission, reads, why)
                              : pass_control(task, submission, reads, why);
}

static enum tic_verdict run_or_queue(struct starpu_task *task, struct tic_submission *submission)
{
    enum tic_verdict verdict = TIC_PASS;

    return tic_replay_is_on() && tic_redo_task_locked(task, submission, &verdict)
               ? verdict
               : tic_admit_undone(task, submission);
}

/* ---- what cannot be protected ---------------------------------------------------------------- */

#define TIC_STRING(x) TIC_STRING_(x)
#define TIC_STRING_(x) #x

static const char *why_not_buffers(const struct starpu_task *task,
                                   const struct tic_accesses *accesses)
{
    bool writes = false, unsaved = false, reads = false;

    if (accesses->simple && accesses->modes & STARPU_W)
        return NULL;
    for (unsigned i = 0; i < accesses->count; i++) {
        enum starpu_data_access_mode mode = accesses->items[i].mode;
        struct tic_handle *handle = accesses->items[i].handle;
        if (!handle)
            return "it uses data that was not registered under protection";
        if (mode & STARPU_W && !handle->supported)
            return "it writes data whose interface has no pack_data and unpack_data, so that it "
                   "cannot be saved";
        writes |= mode & STARPU_W && !tic_handle_is_empty(handle);
        reads |= mode & STARPU_R && !tic_handle_is_empty(handle);
        unsaved |= mode & STARPU_R && !handle->supported && tic_data_holds_values(handle);
    }
    if (!writes && unsaved)
        return "it writes no data, and reads what tasks wrote with an interface that has no "
               "pack_data and unpack_data";
    if (!writes && reads && !task->destroy && !tic_session_is_owner() && tic_marks_runs_again(task))
        return "it is submitted by a task, a callback or another thread, writes no data but reads, "
               "and its structure stays with the application (destroy = 0); this is not protected "
               "yet";
    return NULL;
}

/* They would be lost where a restart skips it; and its data would be written twice where not. */
static const char *why_not_effects(const struct starpu_task *task,
                                   const struct tic_accesses *accesses)
{
    unsigned i = 0;

    if (tic_marks_of(task) != TIC_MARK_HAS_EFFECTS)
        return NULL;
    while (i < accesses->count &&
           !(accesses->items[i].mode & STARPU_W && !tic_handle_is_empty(accesses->items[i].handle)))
        i++;
    return i < accesses->count
               ? "its codelet has effects beside data (starpu_tic_codelet_has_effects), and it "
                 "writes data, too: a restart that skips it would leave them out. Let a task that "
                 "only reads have the effects: that one is executed again"
               : NULL;
}

/* Why this task ends protection, or NULL. Under the submission lock. */
static const char *refuse_task(struct starpu_task *task, const struct tic_accesses *accesses,
                               enum tic_context context)
{
    if (task->hypervisor_tag != 0 && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES)
        return "hypervisor tags are not supported";
    if (task->dyn_handles && !task->destroy)
        return "tasks of more than " TIC_STRING(
            STARPU_NMAXBUFS) " buffers that are submitted again "
                             "are not protected yet";
    if (task->regenerate)
        return "regenerated tasks are not protected yet";
    if (task->omp_task)
        return "StarPU's OpenMP-style tasks, which may stop and continue, are not protected yet";
    if (task->workerorder != 0)
        return "its place in the order of a worker (workerorder) is not protected yet: tasks that "
               "a "
               "restart skips leave a gap";
    if (!tic_hooks_cover(task))
        return "scheduling contexts without a policy are not protected yet";
    if (tic_session->graph.signature.position >= INT_MAX - 1)
        return "a run of more than two thousand million tasks is not protected";
    const char *why = tic_version_why_not(task);
    if (!why && tic_nodes_several)
        why = tic_writeback_refuse(task, accesses);
    why = why ? why : why_not_buffers(task, accesses);
    why = why ? why : why_not_effects(task, accesses);
    if (!why && context != TIC_CONTEXT_MAIN)
        why = tic_prologue_refuse(task, accesses);
    return why ? why : refuse_blind(task, accesses);
}

/* Under the submission lock. */
static enum tic_verdict decide(struct starpu_task *task, struct tic_submission *submission,
                               const char **why)
{
    /* A hint where to run tasks, which is of no use with one memory node. Policies look at the data
     * of all tasks of a bundle, which a restart may not have restored yet. */
    if (task->bundle)
        tic_real.starpu_task_bundle_remove(task->bundle, task);
    *why = tic_unprotected_by_ranks();
    if (*why)
        return TIC_PASS;
    tic_builds_note_callers(tic_session->store.path);
    tic_builds_note_task(task, tic_session->store.path);
    const bool by_main = submission->context == TIC_CONTEXT_MAIN;
    const char *why_unseen =
        tic_lint.comes ? tic_lint.comes(task, submission->accesses, by_main) : NULL;
    *why = why_unseen;
    if (tic_task_runs_nowhere(task))
        return decide_nowhere(task, submission, why);
    submission->accesses->simple = tic_accesses_are_simple(submission->accesses);
    *why = refuse_task(task, submission->accesses, submission->context);
    *why = *why ? *why : why_unseen;
    if (!*why && __builtin_expect(atomic_load_explicit(&tic_exclude_any, memory_order_relaxed), 0))
        *why = tic_exclude_refuse(task, submission->accesses, submission->context);
    if (*why)
        return TIC_PASS;
    if (task->use_tag || task->hypervisor_tag == TIC_TAG_HAS_DEPENDENCIES)
        tic_session->explicit_dependencies = true;
    note_races(task, submission->accesses, submission->context);
    tic_typed_note_task(task, submission->accesses);
    int done = identify(task, submission, why);
    if (*why)
        return TIC_PASS;
    tic_admit_note_uses(submission->accesses, !done || !(submission->accesses->modes & STARPU_W));
    TIC_LINT(submitted, task, submission->accesses, submission->context, submission->spawn.task.id);
    if (by_main)
        note_main_uses(submission->accesses, submission->sequence);
    if (!done && (submission->sequence < tic_session->recovered_submissions || tic_nodes_several))
        tic_commute_in_order(task);
    if (!done)
        return run_or_queue(task, submission);
    tic_admit_note_writes(submission->accesses, false);
    note_skipped(submission->accesses);
    return tic_skip_done(task, tic_submission_key(submission));
}

/* Protection ends by a task that main() did not submit, while main() replays on: the task needs its
 * values and its place nevertheless. */
static enum tic_verdict go_on(struct starpu_task *task, struct tic_submission *submission)
{
    enum tic_verdict verdict = TIC_PASS;

    memset(&submission->spawn, 0, sizeof(submission->spawn));
    submission->spawn.task.id = UINT64_MAX; /* nobody knows it */
    submission->accesses->simple = false;
    tic_lock(&tic_session->submit);
    if (!tic_replay_is_on() || !tic_redo_task_locked(task, submission, &verdict))
        tic_admit(task, submission);
    tic_unlock(&tic_session->submit);
    return verdict;
}

/* It is counted already; its record stays for later lines. */
static enum tic_verdict skip_kept(struct starpu_task *task, const struct tic_submission *submission)
{
    tic_admit_note_writes(submission->accesses, false);
    tic_stop_unless(tic_admit_register(task, &submission->spawn));
    tic_task_unmark(task);
    atomic_fetch_sub_explicit(&tic_session->skipped, 1, memory_order_relaxed);
    return tic_skip_done(task, submission->spawn.task.id);
}

static enum tic_verdict decide_kept(struct starpu_task *task, struct tic_submission *submission)
{
    tic_builds_note_task(task, tic_session->store.path);
    TIC_LINT(comes, task, submission->accesses, false);
    if (submission->spawn.task.flags & TIC_KEPT_DONE)
        return skip_kept(task, submission);
    atomic_fetch_add_explicit(&tic_session->spawned, 1, memory_order_relaxed);
    tic_admit_note_uses(submission->accesses, true);
    return run_or_queue(task, submission);
}

/* One that a kernel had submitted that is skipped. */
static enum tic_verdict admit_kept(struct starpu_task *task, const struct tic_spawn *model)
{
    struct tic_accesses accesses;
    struct tic_submission submission = {
        .context = TIC_CONTEXT_TASK, .spawn = *model, .accesses = &accesses};

    tic_stop_unless(tic_accesses_list(task, &accesses));
    tic_lock(&tic_session->submit);
    enum tic_verdict verdict = decide_kept(task, &submission);
    tic_unlock(&tic_session->submit);
    tic_accesses_drop(&accesses);
    return verdict;
}

static const char *name_of(const struct starpu_task *task)
{
    return task->cl ? tic_task_name(task) : "a control task";
}

/* One that is not skipped, and that the history speaks of: main() submits it before that passes,
 * and waits then. */
static bool had_begun(const struct starpu_task *task)
{
    const struct tic_history *history = &tic_session->graph.history;
    const uint64_t key = tic_control_key(TIC_CONTEXT_MAIN);
    const uint64_t sequence = tic_session->graph.signature.position;

    if (!tic_task_runs_nowhere(task))
        return tic_replay_has_actor(TIC_HISTORY_KERNEL, sequence) ||
               tic_replay_has_actor(TIC_HISTORY_CALLBACK, sequence ^ TIC_PROLOGUE_FIRST) ||
               tic_replay_has_actor(TIC_HISTORY_CALLBACK, sequence ^ TIC_PROLOGUE_POP);
    return tic_history_has_begun(history, TIC_HISTORY_CALLBACK, key) ||
           tic_history_has_begun(history, TIC_HISTORY_CALLBACK, key ^ TIC_PROLOGUE_FIRST) ||
           tic_history_has_begun(history, TIC_HISTORY_CALLBACK, key ^ TIC_PROLOGUE_POP);
}

enum tic_verdict tic_submit_on_before(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_accesses accesses;
    struct tic_submission submission;
    const char *why = NULL;

    submission.context = tic_session_context();
    submission.sequence = submission.spawn.task.id = 0;
    submission.accesses = &accesses;
    if (submission.context == TIC_CONTEXT_STARPU)
        return TIC_PASS;
    if (!tic_accesses_list(task, &accesses)) {
        tic_session_unprotect(name_of(task), "out of memory");
        return TIC_PASS;
    }
    if (submission.context == TIC_CONTEXT_MAIN) {
        bool done = tic_position_is_ahead() && is_next_done(task);
        tic_clock_tick();
        tic_redo_begin(task->synchronous && !done && !had_begun(task) ? TIC_REPLAY_ENDS
                                                                      : TIC_REPLAY_SUBMITS);
    }
    tic_lock(&session->submit);
    enum tic_verdict verdict = decide(task, &submission, &why);
    tic_unlock(&session->submit);
    if (why)
        tic_session_unprotect(name_of(task), why);
    if (why && submission.context != TIC_CONTEXT_MAIN && session->recovered &&
        tic_session_is_watching())
        verdict = go_on(task, &submission);
    tic_accesses_drop(&accesses);
    if (!why && verdict != TIC_HELD && verdict != TIC_PASS &&
        tic_spawns_has_kept(&session->graph.spawns))
        tic_spawn_submit_kept(tic_submission_key(&submission), admit_kept);
    return verdict;
}

void tic_submit_on_refused(struct starpu_task *task)
{
    struct tic_spawn *spawn = tic_spawn_of(task);

    if (spawn)
        tic_spawns_remove(&tic_session->graph.spawns, spawn);
    tic_task_unmark(task);
}
