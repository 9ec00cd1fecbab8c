/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/marks.h"

#include <errno.h>
#include <pthread.h>

#include "session/context.h"
#include "session/kernels.h"

_Atomic bool tic_marks_any;

struct marked {
    const struct starpu_codelet *codelet; /* immutable once `count` has it */
    _Atomic(const void *) function;       /* its first one; relaxed */
    _Atomic int mark;                     /* enum tic_mark; relaxed */
};

/* A leaf. Guards the addition of codelets, which are never removed. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct marked marked[TIC_MARKS];
static _Atomic unsigned count; /* release: those below it are complete */

static struct marked *find(const struct starpu_codelet *codelet)
{
    unsigned known = atomic_load_explicit(&count, memory_order_acquire), i = 0;

    while (i < known && marked[i].codelet != codelet)
        i++;
    return i < known ? &marked[i] : NULL;
}

static bool is_it(const struct marked *found, const struct starpu_codelet *codelet)
{
    return atomic_load_explicit(&found->function, memory_order_relaxed) ==
           tic_kernels_first(codelet);
}

static int set_locked(const struct starpu_codelet *codelet, enum tic_mark mark)
{
    unsigned known = atomic_load(&count);
    struct marked *found = find(codelet);

    if (found && is_it(found, codelet) && atomic_load(&found->mark) != (int)mark)
        return -EINVAL;
    if (!found && known == TIC_MARKS)
        return -ENOSPC;
    struct marked *entry = found ? found : &marked[known];
    entry->codelet = codelet;
    atomic_store(&entry->function, tic_kernels_first(codelet));
    atomic_store(&entry->mark, (int)mark);
    if (!found)
        atomic_store_explicit(&count, known + 1, memory_order_release);
    return 0;
}

int tic_marks_set(const struct starpu_codelet *codelet, enum tic_mark mark)
{
    if (!codelet)
        return -EINVAL;
    pthread_mutex_lock(&adding);
    int status = set_locked(codelet, mark);
    pthread_mutex_unlock(&adding);
    if (status == 0)
        atomic_store(&tic_marks_any, true);
    return status;
}

enum tic_mark tic_marks_find(const struct starpu_codelet *codelet)
{
    const struct marked *found = find(codelet);

    return found && is_it(found, codelet)
               ? (enum tic_mark)atomic_load_explicit(&found->mark, memory_order_relaxed)
               : TIC_MARK_NONE;
}

bool tic_marks_runs_again(const struct starpu_task *task)
{
    const enum tic_mark mark = tic_marks_of(task);

    return mark == TIC_MARK_NONE ? tic_session->settings.rerun : mark == TIC_MARK_HAS_EFFECTS;
}

/* ---- which tasks run ------------------------------------------------------------------------- */

void tic_marks_note_begin(struct tic_slot *slot, const struct starpu_task *task)
{
    atomic_store_explicit(&slot->marks.is_skippable, tic_marks_of(task) == TIC_MARK_CAN_SKIP,
                          memory_order_relaxed);
}

void tic_marks_note_end(struct tic_slot *slot)
{
    bool is_skippable = atomic_load_explicit(&slot->marks.is_skippable, memory_order_relaxed);
    _Atomic uint64_t *ended = is_skippable ? &slot->marks.skippables : &slot->marks.others;

    atomic_store_explicit(ended, atomic_load_explicit(ended, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

struct tic_marks_moment tic_marks_now(const struct tic_cut *cut)
{
    struct tic_marks_moment moment = {
        .known = atomic_load_explicit(&tic_marks_any, memory_order_relaxed)};

    for (unsigned i = 0; i < cut->slot_count && moment.known; i++) {
        const struct tic_slot_marks *marks = &tic_cut_slot(cut, i)->marks;
        moment.others += atomic_load_explicit(&marks->others, memory_order_relaxed);
        moment.skippable += atomic_load_explicit(&marks->skippables, memory_order_relaxed);
    }
    return moment;
}

/* What a task did is seen before this: so its slot says that it runs, or it is counted as ended. A
 * slot that a task is about to enter may still tell of the one before. */
bool tic_marks_all_skippable_since(const struct tic_cut *cut, struct tic_marks_moment moment)
{
    bool runs = false, others_run = false;

    if (!moment.known)
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < cut->slot_count && !others_run; i++) {
        const struct tic_slot *slot = tic_cut_slot(cut, i);
        if (atomic_load(&slot->state) % 4 != TIC_SLOT_RUNNING)
            continue;
        bool is_skippable = atomic_load_explicit(&slot->marks.is_skippable, memory_order_relaxed);
        runs |= is_skippable;
        others_run = !is_skippable;
    }
    struct tic_marks_moment now = tic_marks_now(cut);
    return !others_run && now.others == moment.others && (runs || now.skippable > moment.skippable);
}
