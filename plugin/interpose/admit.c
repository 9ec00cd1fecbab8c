/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that run, before the real submission: data that they use gets its values, and they become
 * live. */
#include "interpose/admit.h"

#include <stdbool.h>

#include "session/accesses.h"
#include "interpose/callback.h"
#include "session/context.h"
#include "interpose/exclude.h"
#include "interpose/extend.h"
#include "interpose/forced.h"
#include "interpose/inputs.h"
#include "interpose/movable.h"
#include "session/marks.h"
#include "session/nodes.h"
#include "interpose/record.h"
#include "recovery/recovery.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "interpose/spawn.h"
#include "session/task.h"
#include "snapshot/forced.h"
#include "session/uses.h"
#include "interpose/workers.h"

void tic_admit_note_writes(const struct tic_accesses *accesses, bool live)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_W && accesses->items[i].handle)
            tic_data_note_write(accesses->items[i].handle, live);
}

void tic_admit_note_valid(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_W)
            tic_data_note_valid(accesses->items[i].handle);
}

void tic_admit_note_uses(const struct tic_accesses *accesses, bool executes)
{
    for (unsigned i = 0; i < accesses->count && !accesses->simple; i++)
        tic_data_note_use(accesses->items[i].handle, (accesses->items[i].mode & STARPU_R) != 0,
                          executes);
}

/* Data that protection does not know counts. */
static bool writes_content(const struct tic_accesses *accesses)
{
    unsigned i = 0;

    while (i < accesses->count &&
           !(accesses->items[i].mode & STARPU_W &&
             !(accesses->items[i].handle && tic_handle_is_empty(accesses->items[i].handle))))
        i++;
    return i < accesses->count;
}

/* A task that is not done and writes comes after every done writer of its handles, whatever the
 * order of submission: C is closed under predecessors. One that writes nothing may come before. */
static void restore_buffers(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    bool writes = writes_content(accesses);

    for (unsigned i = 0; i < accesses->count; i++) {
        struct tic_handle *handle = accesses->items[i].handle;
        if (handle)
            handle->use.touched = true;
        bool ordered = handle && task->sequential_consistency &&
                       tic_real.starpu_data_get_sequential_consistency_flag(handle->data);
        if (handle && accesses->items[i].mode & STARPU_RW &&
            (writes || !ordered || tic_data_holds_values(handle)))
            /* StarPU remembers the restore task as a predecessor of a structure that may be
             * submitted again: then without one. */
            tic_data_restore_locked(handle, !task->sequential_consistency || !task->destroy ||
                                                tic_hooks_has_contexts() ||
                                                atomic_load(&tic_session->paused));
    }
}

uint64_t tic_submission_key(const struct tic_submission *submission)
{
    return submission->context == TIC_CONTEXT_MAIN ? submission->sequence
                                                   : submission->spawn.task.id;
}

bool tic_admit_register(struct starpu_task *task, const struct tic_spawn *model)
{
    bool fine = tic_spawn_register(task, model);

    if (fine && model->kept && model->recovery == 0)
        tic_extend_note_submitted(tic_spawn_of(task));
    return fine;
}

/* What it read is not known: a line does not say where main() was, and so where it came. */
static void refuse_reader(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    if (!tic_session->graph.recovered.positioned && accesses->modes & STARPU_R &&
        !tic_recovery_is_complete(&tic_session->graph))
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot continue from %s: version 0.2 wrote its recovery lines with "
                 "STARPU_TIC_VERIFY=0, and task \"%s\" writes no data, but reads. Continue with "
                 "that version, or start over. Nothing was overwritten",
                 tic_session->store.path, tic_task_name(task));
}

static void go_live(struct starpu_task *task, const struct tic_submission *submission)
{
    struct tic_session *session = tic_session;
    bool main_context = submission->context == TIC_CONTEXT_MAIN;
    uint64_t sequence = submission->sequence;

    if (session->recovered) {
        tic_workers_require(task);
        if (session->snapshot.verify.looks) /* else it uses what it declares */
            tic_data_restore_adopted_locked();
        restore_buffers(task, submission->accesses);
    }
    bool writes = writes_content(submission->accesses);
    if (session->recovered && !writes)
        refuse_reader(task, submission->accesses);
    if (tic_nodes_several && !tic_movable_keep(task, submission->accesses))
        tic_snapshot_break(&session->snapshot, "out of memory");
    tic_admit_note_writes(submission->accesses, true);
    if (!writes && main_context && sequence < tic_doneset_end(&session->graph.recovered.done) &&
        tic_exclude_runs_again(task))
        atomic_fetch_add_explicit(&session->rerun, 1, memory_order_relaxed);
    bool fine = (!session->recovered && !tic_callback_has_any(task)) ||
                tic_callback_wrap(task, false, tic_submission_key(submission), false);
    if (tic_snapshot_is_broken(&session->snapshot))
        task->hypervisor_tag = 0;
    else if (main_context)
        tic_task_mark(task, (int)sequence + 1);
    else if (task->hypervisor_tag >= TIC_TAG_HAS_DEPENDENCIES) /* else it is registered */
        fine = fine && tic_admit_register(task, &submission->spawn);
    tic_snapshot_need(&session->snapshot, fine);
}

/* Data that protection does not know has ended it already. */
void tic_admit(struct starpu_task *task, struct tic_submission *submission)
{
    bool known = true;

    for (unsigned i = 0; i < submission->accesses->count; i++)
        known &= submission->accesses->items[i].handle != NULL;
    if (known)
        tic_admit_note_uses(submission->accesses, true);
    go_live(task, submission);
}

static void note_created(struct starpu_task *task, const struct tic_submission *submission)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    bool writes = false;

    if (__builtin_expect(!snapshot->options.log_all, 1) || submission->context != TIC_CONTEXT_MAIN)
        return;
    for (unsigned i = 0; i < submission->accesses->count; i++)
        writes |= (submission->accesses->items[i].mode & STARPU_W) != 0;
    if (writes && !tic_skip_ends_alone(task))
        tic_snapshot_need_lines(snapshot, tic_task_name(task),
                                "a tag, a callback or a structure that stays with the program");
    tic_record_created(task, submission->sequence);
}

/* Its result is known. */
static bool has_result(struct starpu_task *task, const struct tic_submission *submission)
{
    return submission->context == TIC_CONTEXT_MAIN &&
           tic_session->snapshot.recovery.result_count > 0 && tic_skip_ends_alone(task) &&
           tic_forced_use(task, submission->sequence, !tic_skip_is_plain(task));
}

enum tic_verdict tic_admit_undone(struct starpu_task *task, struct tic_submission *submission)
{
    if (has_result(task, submission))
        return tic_skip_with_value(task, submission->sequence);
    note_created(task, submission);
    go_live(task, submission);
    return TIC_PASS;
}

/* Control tasks of main() are known by the operation that submits them; nobody asks for others. */
uint64_t tic_control_key(enum tic_context context)
{
    return context == TIC_CONTEXT_MAIN ? tic_clock_now() | UINT64_C(1) << TIC_CONTROL_KEY_BIT
                                       : TIC_CALLBACK_UNKNOWN;
}
