/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of main(): its operations on tasks and data. A skipped task ends at once in a replay,
 * but its callback came later, maybe after main() had gone on: it is held back until main() has
 * come as far as it had then. So is its prologue, and a task that is not done because of its
 * prologue. main() came there without it, so this cannot block main(). */
#include <stdlib.h>

#include "base/error.h"
#include "interpose/tasks.h"

struct held {
    uint64_t clock, key;
    void (*run)(void *);
    void *argument;
    bool free_argument;
};

static struct {
    struct held *items;
    unsigned long count, capacity;
} list; /* guarded by the submission lock; in the order in which main() submitted */
_Atomic uint64_t tic_clock_earliest = UINT64_MAX;

uint64_t tic_clock_now(void)
{
    return atomic_load(&tic_session->graph.clock);
}

void tic_clock_tick(void)
{
    atomic_fetch_add(&tic_session->graph.clock, 1);
}

static void hold_locked(const struct held *held)
{
    void *grown = tic_grow(list.items, &list.capacity, list.count + 1, sizeof(*list.items));

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    list.items = grown;
    list.items[list.count++] = *held;
    if (held->clock < atomic_load(&tic_clock_earliest))
        atomic_store(&tic_clock_earliest, held->clock);
}

static void note_earliest_locked(void)
{
    uint64_t next = UINT64_MAX;

    for (unsigned long i = 0; i < list.count; i++)
        next = list.items[i].clock < next ? list.items[i].clock : next;
    atomic_store(&tic_clock_earliest, next);
}

/* main() may tick meanwhile: it sees what is held, or we see its tick. */
bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument)
{
    uint64_t clock = tic_graph_callback_clock(&tic_session->graph, key);

    if (clock <= tic_clock_now())
        return false;
    struct held held = {clock, key, run, argument, free_argument};
    hold_locked(&held);
    if (clock > tic_clock_now())
        return true;
    list.count--;
    note_earliest_locked();
    return false;
}

void tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key)
{
    void (*run)(void *) = task->callback_func ? task->callback_func
                          : task->cl          ? task->cl->callback_func
                                              : NULL;

    if (run && tic_clock_hold_locked(key, run, task->callback_arg, task->callback_arg_free))
        tic_callback_remove(task);
}

/* The first that main() has come to. */
static bool take(struct held *held)
{
    uint64_t now = tic_clock_now();
    unsigned long found = 0;

    tic_lock(&tic_session->submit);
    while (found < list.count && list.items[found].clock > now)
        found++;
    bool any = found < list.count;
    if (any) {
        *held = list.items[found];
        list.count--;
        for (unsigned long i = found; i < list.count; i++)
            list.items[i] = list.items[i + 1];
    }
    note_earliest_locked();
    tic_unlock(&tic_session->submit);
    return any;
}

void tic_clock_release(void)
{
    struct held held = {.run = NULL};

    if (tic_early_holds())
        tic_early_release();
    if (!tic_clock_is_due())
        return;
    while (take(&held)) {
        tic_callback_begin(held.key, held.run, held.argument);
        if (held.free_argument)
            free(held.argument);
    }
}

bool tic_clock_holds(void)
{
    return atomic_load(&tic_clock_earliest) != UINT64_MAX;
}
