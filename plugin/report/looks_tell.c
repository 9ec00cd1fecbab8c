/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of memory that main(), callbacks or kernels may read, and that is not logged. */
#include "report/looks_tell.h"

#include <stdio.h>

#include "base/error.h"
#include "base/names.h"
#include "report/advice.h"
#include "session/accesses.h"
#include "session/context.h"
#include "session/marks.h"
#include "session/task.h"

/* Owner thread only. */
static struct {
    bool large;      /* data that is too large to be logged, and that no check has watched */
    uint64_t packed; /* data with a home node that its interface packs: its id + 1; or 0 */
    /* Data without a home node, written since main() had its pointer: its id + 1. */
    uint64_t exposed;
    bool waited; /* main() has, and submitted nothing since */
    bool told_large, told_packed, told_exposed, told_time;
} unlogged;

static bool is_first(bool *told)
{
    bool first = !*told;

    *told = true;
    return first;
}

void tic_looks_note_unlogged(const struct tic_handle *handle)
{
    if (!handle->packer)
        unlogged.large |= !tic_advice_saw(handle);
    else if (unlogged.packed == 0)
        unlogged.packed = handle->id + 1;
}

static void tell_large_of_callback(struct starpu_task *task)
{
    static bool told; /* guarded by the submission lock, as the next ones */

    if (!tic_advice_is_there() && is_first(&told))
        tic_log(TIC_LOG_INFO,
                "task \"%s\" has a callback, and declares data of more than %lu bytes; starpu-tic "
                "explain callbacks",
                tic_task_name(task), tic_session->settings.looks);
}

/* ---- small data that the task of a callback does not declare ----------------------------------
 */

enum { MOST_LOOKED_AT = 64, MOST_CALLBACKS = 1000 };

/* Guarded by the submission lock: what `starpu-tic check` says of callbacks. */
static char packed_of[200], undeclared[200];

static bool declares(const struct tic_accesses *accesses, const struct tic_handle *handle)
{
    unsigned i = 0;

    while (i < accesses->count && accesses->items[i].handle != handle)
        i++;
    return i < accesses->count;
}

static bool is_small(const struct tic_handle *handle)
{
    return tic_handle_has_memory(handle) &&
           tic_shape_bytes(&handle->layout.shape) <= tic_session->settings.looks;
}

/* Small data that tasks write, and this one does not declare; false: there seems to be none. */
static bool find_undeclared(const struct tic_accesses *accesses, uint64_t *id, uint64_t *bytes)
{
    struct tic_graph *graph = &tic_session->graph;
    bool found = false;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && i < MOST_LOOKED_AT && !found; i++) {
        const struct tic_handle *handle = graph->handles[i];
        found = handle->use.submitted_writes > 0 && is_small(handle) && !declares(accesses, handle);
        *id = handle->id;
        *bytes = tic_shape_bytes(&handle->layout.shape);
    }
    tic_unlock(&graph->lock);
    return found;
}

static void tell_packed_of_callback(struct starpu_task *task, const struct tic_handle *handle)
{
    if (packed_of[0] || handle->home_node < 0 || tic_session->settings.verify == 0)
        return;
    snprintf(packed_of, sizeof(packed_of),
             "task \"%.64s\" has a callback, and declares data %llu%s (number of registration), "
             "which its interface packs",
             tic_task_name(task), (unsigned long long)handle->id, tic_name_of(handle->id));
    if (!tic_session->report && !tic_advice_is_there())
        tic_log(TIC_LOG_INFO, "%s; starpu-tic explain callbacks", packed_of);
}

/* Most callbacks read nothing of the kind: the first run says it to those who ask for more
 * messages, a restart to all. */
static void note_callback_of(struct starpu_task *task, const struct tic_accesses *accesses)
{
    static unsigned looked; /* the same */
    uint64_t id, bytes;

    if ((tic_session->settings.verify == 0 && !tic_session->report) || undeclared[0] ||
        looked++ >= MOST_CALLBACKS || !find_undeclared(accesses, &id, &bytes))
        return;
    snprintf(undeclared, sizeof(undeclared),
             "task \"%.64s\" has a %s, and does not declare data %llu%s (number of "
             "registration, %llu bytes), which tasks write",
             task->cl ? tic_task_name(task) : "(without a codelet)",
             tic_callback_of(task) ? "callback" : "prologue", (unsigned long long)id,
             tic_name_of(id), (unsigned long long)bytes);
    if (!tic_session->report && !tic_advice_is_there())
        tic_log(tic_session->recovered ? TIC_LOG_INFO : TIC_LOG_DETAIL,
                "%s; starpu-tic explain callbacks", undeclared);
}

/* ---- main() ---------------------------------------------------------------------------------- */

static void tell_time(void)
{
    if (is_first(&unlogged.told_time))
        tic_log(TIC_LOG_INFO, "main() waits so often that mostly only what tasks declare to write "
                              "is logged; starpu-tic explain waits");
}

/* In the first run, where there is still time for it. */
static void tell_large(void)
{
    if (unlogged.large && !tic_session->recovered && !tic_session->report &&
        is_first(&unlogged.told_large))
        tic_log(TIC_LOG_INFO, "main() goes on after it has waited for tasks, and may read large "
                              "data; starpu-tic explain large");
}

/* Its memory is not known, but to its interface. */
static void tell_packed(void)
{
    if (unlogged.packed == 0 || tic_session->recovered || !is_first(&unlogged.told_packed))
        return;
    if (!tic_session->report && !tic_advice_is_there())
        tic_log(TIC_LOG_INFO,
                "main() goes on after it has waited for tasks, and may touch data %llu; starpu-tic "
                "explain packed",
                (unsigned long long)(unlogged.packed - 1));
}

void tic_looks_note_wait(void)
{
    if (tic_session->report && tic_session_context() == TIC_CONTEXT_MAIN)
        unlogged.waited = true;
}

static void note_exposed(const struct tic_accesses *accesses)
{
    for (unsigned i = 0; i < accesses->count && unlogged.exposed == 0; i++)
        if (accesses->items[i].mode & STARPU_W && accesses->items[i].handle->use.exposed)
            unlogged.exposed = accesses->items[i].handle->id + 1;
}

static void tell_exposed(void)
{
    if (unlogged.exposed == 0 || tic_session->recovered || !is_first(&unlogged.told_exposed))
        return;
    tic_log(TIC_LOG_DETAIL,
            "main() has had a pointer to data %llu%s (number of registration), which has no home "
            "node, and tasks write it again: such a pointer counts between starpu_data_acquire and "
            "starpu_data_release only. What main() reads by it later may be something else in a "
            "restart",
            (unsigned long long)(unlogged.exposed - 1), tic_name_of(unlogged.exposed - 1));
}

static bool may_tell(_Atomic bool *told)
{
    const struct tic_settings *settings = &tic_session->settings;

    return !tic_session->recovered && settings->verify > 0 &&
           settings->pointers != TIC_POINTERS_TRUST && !tic_session->report &&
           atomic_load(&tic_session->has_memory) && !atomic_exchange(told, true);
}

static void note_blind(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (may_tell(&told))
        tic_log(TIC_LOG_INFO,
                "task \"%s\" declares no data, and a restart executes it again; starpu-tic explain "
                "no-data",
                tic_task_name(task));
}

static void note_reader(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (may_tell(&told))
        tic_log(TIC_LOG_DETAIL,
                "task \"%s\" writes no data, and reads some whose memory other handles share "
                "(planned partitions, several registrations). A restart executes it again with a "
                "copy: its kernel must read by the pointers of its buffers",
                tic_task_name(task));
}

void tic_looks_note_left(const struct tic_handle *handle)
{
    static _Atomic bool told;

    if (handle && tic_session_sees(handle) && !handle->use.look &&
        atomic_load(&handle->saving.version) > 0 && may_tell(&told))
        tic_log(TIC_LOG_INFO,
                "data %llu%s: main() may read it after starpu_data_unregister_no_coherency; "
                "starpu-tic explain large",
                (unsigned long long)handle->id, tic_name_of(handle->id));
}

void tic_looks_tell_overwritten(const struct tic_handle *handle)
{
    static bool told; /* guarded by the submission lock */

    if (tic_advice_saw(handle) || !is_first(&told))
        return;
    char size[40] = "its interface packs it";
    if (!handle->packer)
        snprintf(size, sizeof(size), "%llu bytes",
                 (unsigned long long)tic_shape_bytes(&handle->layout.shape));
    tic_log(TIC_LOG_WARN,
            "main() goes on after waits, and may read data %llu (%s) as it is later; starpu-tic "
            "explain overwritten",
            (unsigned long long)handle->id, size);
}

static void note_submission(void)
{
    if (!unlogged.waited)
        return;
    unlogged.waited = false;
    tell_large();
    tell_packed();
}

static bool reads_family(const struct tic_accesses *accesses)
{
    unsigned i = 0;

    while (i < accesses->count && !accesses->items[i].handle->family)
        i++;
    return i < accesses->count;
}

/* In the first run, where there is still time for it. */
static void note_callback(struct starpu_task *task, const struct tic_accesses *accesses)
{
    note_callback_of(task, accesses);
    if (tic_session->recovered || !tic_callback_of(task))
        return;
    for (unsigned i = 0; i < accesses->count; i++) {
        const struct tic_handle *handle = accesses->items[i].handle;
        if (handle && tic_session_sees(handle) && !handle->use.look)
            tell_large_of_callback(task);
        else if (handle && handle->packer)
            tell_packed_of_callback(task, handle);
    }
}

void tic_looks_note_task(struct starpu_task *task, const struct tic_accesses *accesses,
                         bool by_main)
{
    bool runs = !tic_task_runs_nowhere(task);

    if (runs && tic_accesses_declare_nothing(accesses) && tic_marks_of(task) != TIC_MARK_CAN_SKIP)
        note_blind(task);
    else if (runs && !(accesses->modes & STARPU_W) && reads_family(accesses))
        note_reader(task);
    if (runs && by_main) {
        note_submission();
        note_exposed(accesses);
    }
    if (tic_callback_has_any(task))
        note_callback(task, accesses);
}

void tic_looks_tell(uint64_t waits, bool partial)
{
    if (partial)
        tell_time();
    unlogged.waited = waits > 0;
    if (waits > 1)
        note_submission();
    tell_exposed();
}

void tic_looks_report(json_t *report)
{
    json_object_set_new(report, "undeclared", json_string(undeclared));
    json_object_set_new(report, "packed_of_callback", json_string(packed_of));
    if (unlogged.told_packed)
        json_object_set_new(report, "packed", json_integer((json_int_t)unlogged.packed - 1));
}
