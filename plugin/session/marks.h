/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the program says of the tasks of a codelet beside the data that they declare
 * (starpu_tic_codelet_can_skip, starpu_tic_codelet_has_effects), and which of them run. A mark is
 * of a structure with its first function: another codelet that comes to lie at the same address has
 * none. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "snapshot/cut.h"

enum tic_mark {
    TIC_MARK_NONE = 0,
    TIC_MARK_CAN_SKIP,   /* nobody needs what its tasks do elsewhere, once they are done */
    TIC_MARK_HAS_EFFECTS /* somebody does */
};

enum { TIC_MARKS = 256 }; /* codelets with a mark, at most */

/* 0; -EINVAL: no codelet, or it has the other mark; -ENOSPC. Any thread. */
int tic_marks_set(const struct starpu_codelet *codelet, enum tic_mark mark);

/* Has any codelet one? relaxed */
extern _Atomic bool tic_marks_any;
enum tic_mark tic_marks_find(const struct starpu_codelet *codelet);
/* Of a task with a codelet. Any thread. */
static inline enum tic_mark tic_marks_of(const struct starpu_task *task)
{
    return __builtin_expect(atomic_load_explicit(&tic_marks_any, memory_order_relaxed), 0)
               ? tic_marks_find(task->cl)
               : TIC_MARK_NONE;
}

/* Does a restart execute the task again, if it writes no data? */
bool tic_marks_runs_again(const struct starpu_task *task);

/* ---- which tasks run: a worker, around one that the slot has ----------------------------------
 */
void tic_marks_note_begin(struct tic_slot *slot, const struct starpu_task *task);
void tic_marks_note_end(struct tic_slot *slot);

/* Have only tasks that can be skipped run since then? False if none has. Any thread. */
struct tic_marks_moment {
    uint64_t others, skippable; /* that have ended */
    bool known;                 /* there were marks */
};
struct tic_marks_moment tic_marks_now(const struct tic_cut *cut);
bool tic_marks_all_skippable_since(const struct tic_cut *cut, struct tic_marks_moment moment);
