/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/writeback.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "interpose/movable.h"
#include "interpose/reads.h"
#include "interpose/release.h"
#include "real/real.h"
#include "session/context.h"
#include "session/nodes.h"
#include "session/task.h"
#include "snapshot/window.h"

enum { WRITTEN = -1 }; /* in place of the number of a buffer that is read */
enum { LONGEST = 60 }; /* seconds for which main() waits at most */

/* An access for a value. */
struct value {
    starpu_data_handle_t data;
    struct tic_handle *handle;
    int buffer;
};

struct writeback {
    struct tic_slot *slot;
    uint64_t number;                   /* of its begin */
    struct writeback *previous, *next; /* guarded by the mutex below */
    uint64_t asked_ns;                 /* CLOCK_MONOTONIC */
    bool more;
    void (*end)(struct tic_slot *slot, bool more);
    _Atomic unsigned left; /* accesses that are not granted, and whoever asks for them; acq_rel */
    unsigned count;
    struct value values[];
};

/* Those under way, in the order of their numbers. */
static struct {
    pthread_mutex_t mutex; /* a leaf */
    /* guarded by mutex */
    pthread_cond_t ended; /* the first of them; by CLOCK_MONOTONIC once somebody waits */
    bool has_waited;
    uint64_t begun; /* how many, so far */
    struct writeback *first, *last;
} under_way = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, NULL, NULL};

/* ---- which tasks ----------------------------------------------------------------------------- */

static const char *why_not_access(const struct tic_access *access, bool orders, bool ordered)
{
    const struct tic_handle *handle = access->handle;

    if (!handle || tic_handle_is_empty(handle))
        return NULL;
    if (access->mode & STARPU_COMMUTE && !(orders && ordered))
        return "writes that commute are protected where StarPU has several memory nodes if main() "
               "submits them in order: not without sequential consistency, nor beside tags, "
               "declared dependencies or accesses with a callback, nor while main() holds data";
    if (access->mode & STARPU_W && handle->home_node < 0 && !ordered) /* StarPU: it has no value */
        return "data without a home node that is written without sequential consistency is not "
               "protected yet where StarPU has several memory nodes";
    if (access->mode & STARPU_W && handle->packer)
        return "data that its interface packs is not protected yet where StarPU has several memory "
               "nodes";
    return NULL;
}

const char *tic_writeback_refuse(struct starpu_task *task, const struct tic_accesses *accesses)
{
    bool orders = tic_task_may_be_ordered(task) && !tic_session->waits_by_callback;
    const char *why = NULL;

    if (task->cl && task->cl->specific_nodes)
        why = "a choice of memory nodes (specific_nodes) is not protected yet";
    for (unsigned i = 0; i < accesses->count && !why; i++)
        why = why_not_access(&accesses->items[i], orders, tic_task_is_ordered(task, i));
    return why ? why : tic_movable_refuse(task, accesses);
}

/* ---- a worker -------------------------------------------------------------------------------- */

bool tic_writeback_is_away(void)
{
    int worker = tic_real.starpu_worker_get_id();

    return worker >= 0 && tic_nodes_is_away((unsigned)worker);
}

static bool writes_it(const struct tic_slot *slot, const struct tic_handle *handle)
{
    bool found = false;

    for (unsigned long i = 0; i < slot->writing.count && !found; i++)
        found = slot->writing.items[i] == handle;
    return found;
}

void tic_writeback_check(const struct tic_slot *slot, const struct tic_handle *handle)
{
    if (atomic_load(&handle->saving.writers) > 0 && !writes_it(slot, handle))
        tic_snapshot_break(&tic_session->snapshot,
                           "two tasks write data %llu (number of registration) in an order that "
                           "StarPU does not derive from it, which is not protected yet where it "
                           "has several memory nodes",
                           (unsigned long long)handle->id);
}

bool tic_writeback_reads_late(struct starpu_task *task)
{
    bool late = false;

    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task) && !late; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        late = handle && STARPU_TASK_GET_MODE(task, i) & STARPU_R &&
               (atomic_load(&handle->movable.stale) || atomic_load(&handle->saving.writers) > 0);
    }
    return late;
}

/* ---- the end of a task ----------------------------------------------------------------------- */

static void note_begin(struct writeback *writeback)
{
    pthread_mutex_lock(&under_way.mutex);
    writeback->number = ++under_way.begun;
    writeback->previous = under_way.last;
    *(under_way.last ? &under_way.last->next : &under_way.first) = writeback;
    under_way.last = writeback;
    pthread_mutex_unlock(&under_way.mutex);
}

static void note_end(struct writeback *writeback)
{
    pthread_mutex_lock(&under_way.mutex);
    if (!writeback->previous)
        pthread_cond_broadcast(&under_way.ended);
    *(writeback->previous ? &writeback->previous->next : &under_way.first) = writeback->next;
    *(writeback->next ? &writeback->next->previous : &under_way.last) = writeback->previous;
    pthread_mutex_unlock(&under_way.mutex);
}

static void log_read(const struct writeback *writeback, const struct value *value)
{
    uint64_t epoch = atomic_load_explicit(&writeback->slot->state, memory_order_relaxed) / 4;

    tic_reads_log_late(value->handle, (unsigned)value->buffer, writeback->slot->reads.key, epoch);
}

/* All accesses are granted. They go last: then others may change the values. */
static void land(struct writeback *writeback)
{
    struct tic_slot *slot = writeback->slot;
    struct tic_forced_taken before;

    for (unsigned i = 0; i < writeback->count; i++) {
        tic_movable_found(writeback->values[i].handle);
        if (writeback->values[i].buffer != WRITTEN)
            log_read(writeback, &writeback->values[i]);
    }
    if (slot->result && slot->result->slot)
        atomic_fetch_add_explicit(&tic_session->snapshot.window.forced_ns,
                                  tic_nanoseconds(CLOCK_MONOTONIC) - writeback->asked_ns,
                                  memory_order_relaxed);
    tic_forced_exchange(slot->result, &before);
    writeback->end(slot, writeback->more); /* another task may have the slot from now on */
    tic_forced_exchange(&before, NULL);
    note_end(writeback);
    for (unsigned i = 0; i < writeback->count; i++)
        tic_release(writeback->values[i].data, STARPU_MAIN_RAM);
    free(writeback);
}

static void granted(void *arg)
{
    struct writeback *writeback = arg;

    if (atomic_fetch_sub_explicit(&writeback->left, 1, memory_order_acq_rel) == 1)
        land(writeback);
}

static void add_value(struct writeback *writeback, struct tic_handle *handle, int buffer)
{
    writeback->values[writeback->count++] = (struct value){handle->data, handle, buffer};
}

static struct writeback *create(struct starpu_task *task, struct tic_slot *slot)
{
    unsigned buffers = slot->reads.late ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    struct writeback *writeback =
        calloc(1, sizeof(*writeback) + (slot->writing.count + buffers) * sizeof(struct value));
    if (!writeback)
        return NULL;
    for (unsigned long i = 0; i < slot->writing.count; i++)
        add_value(writeback, slot->writing.items[i], WRITTEN);
    for (unsigned i = 0; i < buffers; i++)
        if (tic_reads_are_logged(task, i, slot->reads.key))
            add_value(writeback, tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)), (int)i);
    return writeback;
}

/* Its last access may be granted while it asks for others. */
static void ask(struct writeback *writeback)
{
    int status = 0;

    tic_guard++;
    for (unsigned i = 0; i < writeback->count && status == 0; i++)
        status = tic_real.starpu_data_acquire_on_node_cb_sequential_consistency(
            writeback->values[i].data, STARPU_MAIN_RAM, STARPU_R, granted, writeback, 0);
    tic_guard--;
    if (status == 0) {
        granted(writeback);
        return;
    }
    note_end(writeback); /* the others hold it until the process ends */
    tic_snapshot_break(&tic_session->snapshot,
                       "StarPU gives no access to what a task has written (%d)", status);
}

void tic_writeback_take_result(struct tic_slot *slot)
{
    struct tic_forced_taken taken;

    tic_forced_exchange(NULL, &taken);
    if (taken.slot && !slot->result)
        slot->result = malloc(sizeof(*slot->result));
    if (slot->result)
        *slot->result = taken;
    tic_snapshot_need(&tic_session->snapshot, slot->result || !taken.slot);
}

void tic_writeback_found(struct starpu_task *task)
{
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!handle || !atomic_load(&handle->movable.stale))
            continue;
        tic_lock(&handle->saving.lock); /* others may read it, too */
        tic_movable_found(handle);
        tic_unlock(&handle->saving.lock);
    }
}

bool tic_writeback_is_spared(const struct tic_slot *slot)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    bool forces = slot->result && slot->result->slot && tic_window_may_force(snapshot);

    return !slot->reads.late && !forces && tic_window_mark(snapshot, slot);
}

void tic_writeback_begin(struct starpu_task *task, struct tic_slot *slot, bool more,
                         void (*end)(struct tic_slot *slot, bool more))
{
    struct writeback *writeback = create(task, slot);

    atomic_store_explicit(&slot->task, TIC_SLOT_ENDING, memory_order_release);
    if (!writeback) {
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
        end(slot, true);
        return;
    }
    writeback->slot = slot;
    writeback->more = more;
    writeback->end = end;
    writeback->asked_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    writeback->left = writeback->count + 1;
    note_begin(writeback);
    ask(writeback);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool is_under_way_locked(uint64_t last)
{
    return under_way.first && under_way.first->number <= last;
}

void tic_writeback_settle(void)
{
    struct timespec until = tic_after(LONGEST);
    int status = 0;

    if (atomic_load(&tic_session->paused))
        return; /* while StarPU is paused nothing comes */
    pthread_mutex_lock(&under_way.mutex);
    uint64_t last = under_way.begun;
    if (!under_way.has_waited)
        tic_cond_init(&under_way.ended);
    under_way.has_waited = true;
    while (is_under_way_locked(last) && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&under_way.ended, &under_way.mutex, &until);
    pthread_mutex_unlock(&under_way.mutex);
}
