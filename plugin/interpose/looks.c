/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() may look at by its own pointers. When main() comes back from a call that waits for
 * tasks, small data that changed since the last time are logged, as values that main() acquires
 * are, and a restart gives them back at the same place. So main() may sum up, print or decide by
 * what it reads there without an access. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "interpose/tasks.h"

enum { MOST_BYTES = 4096 };          /* of a datum that is logged */
enum { MOST_PERCENT = 1 };           /* of the time */
enum { LEAST_NANOSECONDS = 50000000 }; /* less is not worth a word */

/* Owner thread only. */
static struct {
    struct tic_handle_list list;
    uint64_t waits; /* calls that main() came back from */
    bool inside;    /* such a call */
    bool large;     /* data that is too large for that was registered */
    bool told_large, told_time;
    uint64_t ns, begun_ns;
} looks;

/* ---- which data ------------------------------------------------------------------------------ */

void tic_looks_add(struct tic_handle *handle)
{
    if (!handle->imaged)
        return;
    if (tic_shape_bytes(&handle->layout.shape) > MOST_BYTES) {
        looks.large = true;
        return;
    }
    if (!tic_handle_append(&looks.list, handle)) {
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
        return;
    }
    handle->look = looks.list.count;
}

void tic_looks_remove(struct tic_handle *handle)
{
    if (handle->look == 0)
        return;
    struct tic_handle *last = looks.list.items[--looks.list.count];
    looks.list.items[handle->look - 1] = last;
    last->look = handle->look;
    handle->look = 0;
}

/* ---- logging --------------------------------------------------------------------------------- */

/* Tasks that main() has not waited for may be writing it: main() does not look at it then. */
static bool is_at_rest(const struct tic_handle *handle)
{
    return atomic_load_explicit(&handle->writers, memory_order_acquire) == 0 &&
           !atomic_load_explicit(&handle->split, memory_order_relaxed);
}

/* Its bytes count, not its version: who writes them need not have declared it. */
static void log_if_changed(struct tic_handle *handle)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_graph *graph = snapshot->graph;
    char bytes[MOST_BYTES];
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, bytes);
    uint64_t hash = tic_layout_checksum(&handle->layout);

    if (hash == handle->looked)
        return;
    handle->looked = hash;
    tic_layout_copy(&packed, &handle->layout);
    tic_lock(&graph->lock);
    int status = tic_graph_note_look_locked(graph, looks.waits, handle->id, bytes,
                                            (uint32_t)tic_shape_bytes(&handle->layout.shape),
                                            atomic_load(&snapshot->cut.epoch));
    tic_unlock(&graph->lock);
    if (status)
        tic_snapshot_break(snapshot, "out of memory");
}

static void tell_time(void)
{
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);

    if (looks.told_time || looks.ns < LEAST_NANOSECONDS ||
        looks.ns * 100 <= (now - looks.begun_ns) * MOST_PERCENT)
        return;
    looks.told_time = true;
    tic_log(TIC_LOG_INFO,
            "main() waits for tasks so often that logging what it may look at afterwards takes more "
            "than %d %% of the time", MOST_PERCENT);
}

static void tell_large(void)
{
    if (!looks.large || looks.told_large || looks.waits < 2)
        return;
    looks.told_large = true;
    tic_log(TIC_LOG_DETAIL,
            "main() goes on after it has waited for tasks. What it reads by its pointers then, in "
            "data of more than %d bytes, is not logged: `starpu-tic check` tells whether it does",
            MOST_BYTES);
}

static void log_all(void)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (looks.begun_ns == 0)
        looks.begun_ns = start;
    for (unsigned long i = 0; i < looks.list.count; i++)
        if (is_at_rest(looks.list.items[i]))
            log_if_changed(looks.list.items[i]);
    looks.ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    tell_time();
    tell_large();
}

/* ---- a restart ------------------------------------------------------------------------------- */

static struct tic_handle *find(uint64_t id)
{
    for (unsigned long i = 0; i < looks.list.count; i++)
        if (looks.list.items[i]->id == id)
            return looks.list.items[i];
    return NULL;
}

static void give_back(struct tic_handle *handle, const struct tic_line_look *look, size_t parts)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    char bytes[MOST_BYTES];

    if (look->bytes != size || size > MOST_BYTES || (parts - 1) * TIC_LOOK_BYTES >= size)
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: handle %llu has another shape now",
                 (unsigned long long)handle->id);
    for (size_t i = 0; i < parts; i++) {
        size_t at = (size_t)look[i].part * TIC_LOOK_BYTES;
        memcpy(bytes + at, look[i].words, size - at < TIC_LOOK_BYTES ? size - at : TIC_LOOK_BYTES);
    }
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, bytes);
    tic_layout_copy(&handle->layout, &packed);
}

/* Nobody else uses the memory before main() has come to the recovered cut. */
static void give_all_back(void)
{
    size_t count, parts;
    const struct tic_line_look *look =
        tic_graph_find_looks(&tic_session->graph, looks.waits, &count);

    for (size_t i = 0; i < count; i += parts) {
        struct tic_handle *handle = find(look[i].id);
        for (parts = 1; i + parts < count && look[i + parts].id == look[i].id;)
            parts++;
        if (handle)
            give_back(handle, &look[i], parts);
    }
}

/* ---- main() ---------------------------------------------------------------------------------- */

void tic_looks_enter(void)
{
    if (looks.inside || !tic_session->snapshot.verify.percent ||
        tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    looks.inside = true;
    tic_verify_enter(&tic_session->snapshot);
}

void tic_looks_leave(void)
{
    struct tic_session *session = tic_session;

    if (!looks.inside || tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    looks.inside = false;
    looks.waits++;
    if (tic_position_is_ahead())
        give_all_back();
    else if (atomic_load(&session->watching) && !tic_snapshot_is_broken(&session->snapshot))
        log_all();
    tic_failpoint(TIC_FAIL_WAIT_END);
    tic_verify_leave(&session->snapshot);
}
