/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks may look at by their own pointers. When main() comes back from a call
 * that waits for tasks, small data that changed since the last time are logged, as values that
 * main() acquires are, and a restart gives them back at the same place, and as long as they had not
 * changed: main() may clear a flag before each wait, and tasks that set it again are skipped. So
 * main() may sum up, print or decide by what it reads there without an access. The same goes for
 * the callback of a task, and the small data that its task declares. */
#include "interpose/looks.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/thread.h"
#include "report/advice.h"
#include "session/context.h"
#include "session/nodes.h"
#include "interpose/looks_list.h"
#include "interpose/looks_packed.h"
#include "interpose/looks_replay.h"
#include "replay/replay.h"

enum { STACK_BYTES = 4096 };           /* data up to this size is copied on the stack */
enum { FEW = 64 };                     /* so many data are always compared */
enum { LEAST_NANOSECONDS = 50000000 }; /* and all as long as it took no longer in sum */

/* Owner thread only. */
static struct {
    uint64_t waits; /* calls that main() came back from */
    bool inside;    /* such a call */
    bool partial;   /* after this one not all data are compared with what they were */
    uint64_t begun_ns;
    uint64_t search_ns, last_search_ns; /* of all data: together, and the last time */
} looks;

/* ---- which data ------------------------------------------------------------------------------ */

/* `starpu-tic check` has seen main() look at it, or at what it is a part of. */
static bool is_advised(const struct tic_handle *handle)
{
    for (; handle && !tic_advice_logs(handle); handle = handle->parent)
        ;
    return handle != NULL;
}

/* A restart follows the recorded run: setting and advice may have changed since. */
static bool is_logged(const struct tic_handle *handle)
{
    uint64_t bytes = tic_shape_bytes(&handle->layout.shape);

    return bytes <= UINT32_MAX && (bytes <= tic_session->settings.looks || is_advised(handle) ||
                                   tic_graph_was_looked_at(&tic_session->graph, handle->id));
}

void tic_looks_add(struct tic_handle *handle)
{
    if (tic_handle_has_memory(handle))
        atomic_store(&tic_session->has_memory, true);
    if (handle->packer && handle->home_node >= 0) {
        TIC_LINT(note, TIC_LINT_UNLOGGED, handle);
        tic_looks_packed_add(handle);
    }
    if (!tic_session_sees(handle))
        return;
    if (!is_logged(handle)) {
        TIC_LINT(note, TIC_LINT_UNLOGGED, handle);
        return;
    }
    tic_lock(&tic_session->submit);
    bool fine = tic_looks_append_locked(handle);
    atomic_store(&handle->use.look, fine);
    tic_unlock(&tic_session->submit);
    if (fine)
        tic_looks_list_written(handle); /* its first content counts, too */
    else
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
}

void tic_looks_remove(struct tic_handle *handle)
{
    if (handle->restart.skips_listed) {
        tic_lock(&tic_session->submit);
        tic_looks_forget_skipped_locked(handle);
        tic_unlock(&tic_session->submit);
    }
    if (handle->packer)
        tic_looks_packed_remove(handle);
    if (!handle->use.look)
        return;
    tic_lock(&tic_session->submit);
    tic_looks_drop_locked(handle);
    tic_unlock(&tic_session->submit);
    atomic_store(&handle->use.look, false);
}

/* ---- logging --------------------------------------------------------------------------------- */

/* Tasks that main() has not waited for may be writing it: main() does not look at it then. */
static bool is_at_rest(const struct tic_handle *handle)
{
    return atomic_load_explicit(&handle->saving.writers, memory_order_acquire) == 0 &&
           !atomic_load_explicit(&handle->saving.split, memory_order_relaxed);
}

static void log_bytes(const struct tic_layout *layout, uint64_t id, uint64_t wait)
{
    uint64_t size = tic_shape_bytes(&layout->shape);
    char small[STACK_BYTES], *bytes = size > STACK_BYTES ? malloc(size) : small;
    struct tic_layout packed = tic_layout_packed(&layout->shape, bytes);

    if (!bytes) {
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
        return;
    }
    tic_layout_copy(&packed, layout);
    tic_looks_append(wait, id, bytes, size);
    if (bytes != small)
        free(bytes);
}

/* Once a wait: a task that main() does not wait for may change it meanwhile. Its bytes count, not
 * its version: who writes them need not have declared it. main() may have unmapped it. */
static void log_if_changed(struct tic_handle *handle)
{
    uint64_t hash;

    if (handle->use.looked.wait == looks.waits)
        return;
    handle->use.looked.wait = looks.waits;
    if (!tic_layout_checksum_there(&handle->layout, &hash))
        return;
    if (hash != handle->use.looked.hash)
        log_bytes(&handle->layout, handle->id, looks.waits);
    else if (looks.partial)
        tic_looks_append(looks.waits, handle->id, NULL, 0);
    handle->use.looked.hash = hash;
}

/* What nobody has declared is found by comparing all, as often as that takes little time; and
 * always once somebody was found who writes without declaring it. */
static bool may_search(uint64_t now)
{
    uint64_t after = looks.search_ns + looks.last_search_ns;

    return atomic_load(&tic_session->snapshot.verify.quiescent) || tic_looks_count() <= FEW ||
           after < LEAST_NANOSECONDS || after * 100 <= (now - looks.begun_ns) * TIC_LOOKS_PERCENT;
}

/* Those of `some`, which this thread changes only. A system call for each would cost more than its
 * hash. */
static void log_each(const struct tic_handle_list *some)
{
    if (some->count == 0)
        return;
    tic_faults_begin();
    for (unsigned long i = 0; i < some->count; i++)
        if (some->items[i] && is_at_rest(some->items[i]))
            log_if_changed(some->items[i]);
    tic_faults_end();
}

/* Its memory is also that of those that overlap. */
static bool add_with_family(struct tic_handle_list *some, struct tic_handle *handle)
{
    bool fine = tic_handle_append(some, handle);

    for (unsigned long i = 0; handle->family && i < handle->listing.overlap_count && fine; i++)
        if (atomic_load(&handle->listing.overlaps[i]->use.look))
            fine = tic_handle_append(some, handle->listing.overlaps[i]);
    return fine;
}

/* A task that writes it may still be running: then it is listed again. */
static bool take_written(struct tic_handle_list *some, uint64_t id)
{
    struct tic_handle *handle = tic_looks_find_locked(id);

    if (!handle)
        return true;
    atomic_store(&handle->use.look_listed, false);
    if (atomic_load(&handle->saving.writers) == 0)
        return add_with_family(some, handle);
    tic_looks_list_written(handle);
    return true;
}

static void log_written(void)
{
    static struct tic_handle_list some;
    static struct tic_looks_ids ids;
    bool fine = true;

    tic_looks_take_written(&ids);
    some.count = 0;
    for (unsigned long i = 0; i < ids.count && fine; i++)
        fine = take_written(&some, ids.items[i]);
    tic_snapshot_need(&tic_session->snapshot, fine);
    log_each(&some);
}

static void log_all(void)
{
    if (looks.begun_ns == 0)
        looks.begun_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    looks.partial = !may_search(tic_nanoseconds(CLOCK_MONOTONIC));
    tic_looks_packed_log(looks.waits);
    log_written();
    if (!looks.partial) {
        uint64_t start = tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID); /* not what others take */
        log_each(&tic_looks_list);
        looks.last_search_ns = tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start;
        looks.search_ns += looks.last_search_ns;
    } else {
        tic_looks_append(looks.waits, TIC_LOOK_PARTIAL, NULL, 0);
    }
    TIC_LINT(looked, looks.waits, looks.partial);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Beside the numbers of waits. Callbacks that no restart knows again have none. */
static uint64_t wait_of(uint64_t key)
{
    return key | TIC_LOOK_CALLBACK;
}

static bool has_callback(uint64_t key)
{
    size_t count;
    const struct tic_line_look *look =
        tic_graph_find_looks(&tic_session->graph, wait_of(key), &count);

    return count > 0 && look[0].id != TIC_LOOK_ARGUMENTS;
}

void tic_looks_note_callback(const struct tic_small *small, uint64_t key)
{
    struct tic_session *session = tic_session;

    if (tic_nodes_several) /* it may be on another one */
        return;
    if (small->count == 0 || tic_callback_is_unknown(key) || has_callback(key) ||
        tic_position_is_ahead() || !atomic_load(&session->watching) ||
        tic_snapshot_is_broken(&session->snapshot))
        return;
    tic_lock(&session->submit);
    for (unsigned i = 0; i < small->count; i++) {
        const struct tic_handle *handle = tic_looks_find_locked(small->ids[i]);
        const struct tic_layout *layout =
            handle ? &handle->layout : tic_looks_find_leaving_locked(small->ids[i]);
        /* Its own task comes to its end hook after this, and main() may have divided the data. */
        if (layout &&
            (!handle || atomic_load_explicit(&handle->saving.writers, memory_order_acquire) <= 1))
            log_bytes(layout, small->ids[i], wait_of(key));
    }
    tic_unlock(&session->submit);
}

/* It may run under locks of StarPU: no lock of ours for those who have nothing to see. */
void tic_looks_show_callback(uint64_t key)
{
    if (!tic_replay_is_on() || !has_callback(key))
        return;
    tic_lock(&tic_session->submit);
    if (tic_replay_is_on())
        tic_looks_give_callback_back_locked(wait_of(key));
    tic_unlock(&tic_session->submit);
}

/* ---- main() ---------------------------------------------------------------------------------- */

void tic_looks_enter(void)
{
    if (looks.inside || !tic_session->snapshot.verify.looks ||
        tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    looks.inside = true;
    tic_verify_enter(&tic_session->snapshot);
}

/* Also at the wait in which the line was cut. */
static void give_packed_back(void)
{
    if (!tic_session->recovered)
        return;
    tic_lock(&tic_session->submit);
    tic_looks_await_packed_locked();
    tic_unlock(&tic_session->submit);
    if (!tic_looks_packed_has(looks.waits))
        return;
    tic_looks_packed_give_back(looks.waits);
}

/* Had main() come back from this call by the cut? */
static bool is_recovered(const struct tic_graph *graph)
{
    return tic_replay_is_on() && atomic_load(&graph->position) <= graph->history.returned;
}

bool tic_looks_leave(void)
{
    struct tic_session *session = tic_session;

    if (!looks.inside || tic_session_context() != TIC_CONTEXT_MAIN)
        return false;
    looks.inside = false;
    looks.waits++;
    give_packed_back();
    if (tic_position_is_ahead() || is_recovered(&session->graph)) {
        tic_lock(&session->submit);
        tic_looks_give_main_back_locked(looks.waits);
        tic_unlock(&session->submit);
    } else if (looks.waits > tic_graph_last_look(&session->graph) &&
               atomic_load(&session->watching) && !tic_snapshot_is_broken(&session->snapshot) &&
               tic_point_has_history(&session->snapshot.point)) {
        log_all();
    }
    return true;
}
