/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/slots.h"

#include "real/real.h"
#include "session/nodes.h"

static bool is_free(const struct tic_slot *slot)
{
    return atomic_load_explicit(&slot->task, memory_order_acquire) == NULL;
}

struct tic_slot *tic_slots_own(struct tic_snapshot *snapshot)
{
    unsigned worker = (unsigned)tic_real.starpu_worker_get_id();
    struct tic_slot *own = tic_cut_slot(&snapshot->cut, worker);

    if (__builtin_expect(!tic_nodes_several, 1) || !tic_nodes_is_away(worker) || is_free(own))
        return own;
    struct tic_slot *spare = tic_cut_take_spare(&snapshot->cut);
    tic_snapshot_need(snapshot, spare);
    return spare;
}

/* On several nodes, where there may be thousands of slots: the one in which a task of such an
 * address began last, or that of another task. Relaxed: the slot itself says whose it is. */
enum { HINTS = 1024 };
static struct tic_slot *_Atomic hints[HINTS];

static struct tic_slot *_Atomic *hint_of(const struct starpu_task *task)
{
    return &hints[((uintptr_t)task >> 6) % HINTS];
}

void tic_slots_note(struct tic_slot *slot, const struct starpu_task *task)
{
    if (__builtin_expect(tic_nodes_several, 0))
        atomic_store_explicit(hint_of(task), slot, memory_order_relaxed);
}

static bool has(const struct tic_slot *slot, const struct starpu_task *task)
{
    return slot && atomic_load_explicit(&slot->task, memory_order_relaxed) == task;
}

/* With end dependencies the hook comes late, on any thread; then the worker may have moved on, as
 * one of a device may in any case. */
struct tic_slot *tic_slots_find(const struct tic_snapshot *snapshot, const struct starpu_task *task)
{
    const struct tic_cut *cut = &snapshot->cut;
    struct tic_slot *slot = atomic_load_explicit(hint_of(task), memory_order_relaxed);

    for (unsigned i = 0; !has(slot, task); i++) {
        if (i == cut->slot_count)
            return NULL;
        slot = tic_cut_slot(cut, i);
    }
    return slot;
}

bool tic_slots_take(struct tic_slot *slot, const void *task)
{
    return atomic_compare_exchange_strong_explicit(&slot->task, &task, TIC_SLOT_ENDING,
                                                   memory_order_acq_rel, memory_order_acquire);
}

void tic_slots_end(struct tic_snapshot *snapshot, struct tic_slot *slot)
{
    if (__builtin_expect(slot->number >= snapshot->about.workers, 0))
        tic_cut_give_back(&snapshot->cut, slot);
}
