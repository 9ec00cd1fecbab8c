/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the core tells (base/lint.h), to whom. */
#include "base/error.h"
#include "report/advice.h"
#include "report/looks_tell.h"
#include "report/pages.h"
#include "report/report.h"
#include "session/context.h"
#include "session/marks.h"
#include "session/task.h"
#include "unseen/blocks.h"
#include "unseen/extent.h"
#include "unseen/followed.h"
#include "unseen/left.h"
#include "unseen/observe.h"
#include "unseen/pointers.h"
#include "unseen/statics.h"
#include "unseen/suppress.h"

static void begin(struct tic_session *session)
{
    const struct tic_settings *settings = &session->settings;

    tic_suppress_read(settings->suppressions);
    if (session->report && tic_report_begin(&session->graph, settings->events) && settings->pages)
        tic_pages_begin();
}

static void (*const notes[])(const struct tic_handle *handle) = {
    [TIC_LINT_REGISTERED] = tic_statics_note_data,
    [TIC_LINT_UNLOGGED] = tic_looks_note_unlogged,
    [TIC_LINT_LEAVES] = tic_statics_leave_out,
    [TIC_LINT_LOST] = tic_looks_note_left,
    [TIC_LINT_OVERWRITTEN] = tic_looks_tell_overwritten,
    [TIC_LINT_EACH_WORKER] = NULL,
};

static void note(enum tic_lint_note what, const struct tic_handle *handle)
{
    if (notes[what])
        notes[what](handle);
    tic_report_note(what, handle);
}

/* A check has told of all. */
static void tell_pointers(const struct starpu_task *task)
{
    static bool told; /* owner thread only */

    if (told || tic_session->report || tic_advice_is_there() ||
        tic_marks_of(task) == TIC_MARK_CAN_SKIP)
        return;
    told = true;
    tic_log(TIC_LOG_INFO,
            "%s: its arguments hold pointers, and what is written there is not saved; starpu-tic "
            "explain arguments",
            tic_task_name(task));
}

static const char *comes(const struct starpu_task *task, const struct tic_accesses *accesses,
                         bool by_main)
{
    if (by_main && tic_pointers_note(task, accesses))
        tell_pointers(task);
    tic_statics_note_task(task);
    return tic_pointers_refuse(task, accesses);
}

static void submitted(struct starpu_task *task, const struct tic_accesses *accesses, int context,
                      uint64_t id)
{
    tic_looks_note_task(task, accesses, context == TIC_CONTEXT_MAIN);
    if (!tic_task_runs_nowhere(task))
        tic_report_task(task, context, id);
}

/* Its effect is elsewhere: what changes in a wait of main() may be its own, also if a restart may
 * skip it. */
static bool has_effect_elsewhere(const struct tic_slot *slot)
{
    return slot->writing.count == 0 && (tic_session->settings.rerun || !slot->counts);
}

static void kernel_begins(struct starpu_task *task, struct tic_slot *slot)
{
    tic_followed_begin(task, slot);
    tic_left_begin(task, slot);
    if (has_effect_elsewhere(slot))
        tic_statics_note_again(false);
    if (__builtin_expect(atomic_load_explicit(&tic_marks_any, memory_order_relaxed), 0))
        tic_marks_note_begin(slot, task);
}

static void kernel_ends(struct starpu_task *task, const struct tic_slot *slot)
{
    tic_followed_end(task, slot);
    tic_left_end(slot);
}

static void task_ends(struct tic_slot *slot)
{
    if (has_effect_elsewhere(slot))
        tic_statics_note_again(true);
    tic_observe_note_end(slot->sequence);
    if (__builtin_expect(atomic_load_explicit(&tic_marks_any, memory_order_relaxed), 0))
        tic_marks_note_end(slot);
}

static bool wait_begins(const struct starpu_task *task, const void *frame)
{
    if (task)
        return tic_observe_begin(task, frame);
    tic_statics_enter(frame, false);
    tic_looks_note_wait();
    return false;
}

static void wait_ends(bool held)
{
    if (held)
        tic_observe_end();
    else
        tic_statics_leave(false);
}

__attribute__((constructor)) static void fill(void)
{
    tic_lint = (struct tic_lint){
        .begin = begin,
        .note = note,
        .beyond = tic_extent_beyond,
        .comes = comes,
        .submitted = submitted,
        .kernel_begins = kernel_begins,
        .kernel_ends = kernel_ends,
        .task_ends = task_ends,
        .wait_begins = wait_begins,
        .wait_ends = wait_ends,
        .looked = tic_looks_tell,
        .freed = tic_blocks_note_freed,
        .look = tic_statics_look,
        .goes_on = tic_lint.goes_on,
    };
}
