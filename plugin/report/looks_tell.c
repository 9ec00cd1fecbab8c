/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of memory that main(), callbacks or kernels may read, and that is not logged. */
#include "report/looks_tell.h"

#include <stdio.h>

#include "base/error.h"
#include "base/names.h"
#include "report/advice.h"
#include "session/context.h"
#include "session/lookup.h"
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

_Atomic bool tic_looks_visible;

void tic_looks_note_large(const struct tic_handle *handle)
{
    unlogged.large |= !tic_advice_saw(handle);
}

void tic_looks_note_packed(const struct tic_handle *handle)
{
    if (unlogged.packed == 0)
        unlogged.packed = handle->id + 1;
}

/* In the first run, where there is still time for it. */
void tic_looks_tell_large_of_callback(struct starpu_task *task)
{
    static _Atomic bool told;

    if (tic_session->recovered || tic_advice_is_there() || atomic_exchange(&told, true))
        return;
    tic_log(TIC_LOG_INFO,
            "task \"%s\" has a callback, and declares data of more than %lu bytes; starpu-tic "
            "explain callbacks",
            tic_task_name(task), tic_session->settings.looks);
}

/* ---- small data that the task of a callback does not declare ----------------------------------
 */

enum { MOST_LOOKED_AT = 64, MOST_CALLBACKS = 1000 };

static char packed_of[200];  /* of a callback: what `starpu-tic check` says; written once */
static char undeclared[200]; /* guarded by the submission lock: what `starpu-tic check` says */

static bool declares(struct starpu_task *task, const struct tic_handle *handle)
{
    unsigned buffers = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    bool found = false;

    for (unsigned i = 0; i < buffers && !found; i++)
        found = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)) == handle;
    return found;
}

static bool is_small(const struct tic_handle *handle)
{
    return tic_handle_has_memory(handle) &&
           tic_shape_bytes(&handle->layout.shape) <= tic_session->settings.looks;
}

/* Small data that tasks write, and this one does not declare; false: there seems to be none. */
static bool find_undeclared(struct starpu_task *task, uint64_t *id, uint64_t *bytes)
{
    struct tic_graph *graph = &tic_session->graph;
    bool found = false;

    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count && i < MOST_LOOKED_AT && !found; i++) {
        const struct tic_handle *handle = graph->handles[i];
        found = handle->use.submitted_writes > 0 && is_small(handle) && !declares(task, handle);
        *id = handle->id;
        *bytes = tic_shape_bytes(&handle->layout.shape);
    }
    tic_unlock(&graph->lock);
    return found;
}

void tic_looks_tell_packed_of_callback(struct starpu_task *task, const struct tic_handle *handle)
{
    static _Atomic bool told;

    if (tic_session->recovered || handle->home_node < 0 || atomic_exchange(&told, true))
        return;
    snprintf(packed_of, sizeof(packed_of),
             "task \"%.64s\" has a callback, and declares data %llu%s (number of registration), "
             "which its interface packs",
             tic_task_name(task), (unsigned long long)handle->id, tic_name_of(handle->id));
    if (!tic_session->report && !tic_advice_is_there())
        tic_log(TIC_LOG_INFO, "%s; starpu-tic explain callbacks", packed_of);
}

const char *tic_looks_packed_of_callback(void)
{
    return packed_of;
}

/* Most callbacks read nothing of the kind: the first run says it to those who ask for more
 * messages, a restart to all. */
void tic_looks_note_callback_of(struct starpu_task *task)
{
    static unsigned looked; /* the same */
    uint64_t id, bytes;

    if ((tic_session->settings.verify == 0 && !tic_session->report) || undeclared[0] ||
        looked++ >= MOST_CALLBACKS || !find_undeclared(task, &id, &bytes))
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

const char *tic_looks_undeclared(void)
{
    return undeclared;
}

/* ---- main() ---------------------------------------------------------------------------------- */

static void tell_time(void)
{
    if (unlogged.told_time)
        return;
    unlogged.told_time = true;
    tic_log(TIC_LOG_INFO, "main() waits so often that mostly only what tasks declare to write is "
                          "logged; starpu-tic explain waits");
}

/* In the first run, where there is still time for it. */
static void tell_large(void)
{
    if (!unlogged.large || unlogged.told_large || tic_session->recovered || tic_session->report)
        return;
    unlogged.told_large = true;
    tic_log(TIC_LOG_INFO, "main() goes on after it has waited for tasks, and may read large data; "
                          "starpu-tic explain large");
}

/* Its memory is not known, but to its interface. */
static void tell_packed(void)
{
    if (unlogged.packed == 0 || unlogged.told_packed || tic_session->recovered)
        return;
    unlogged.told_packed = true;
    if (!tic_session->report && !tic_advice_is_there())
        tic_log(TIC_LOG_INFO,
                "main() goes on after it has waited for tasks, and may touch data %llu; starpu-tic "
                "explain packed",
                (unsigned long long)(unlogged.packed - 1));
}

void tic_looks_note_wait(void)
{
    unlogged.waited = true;
}

bool tic_looks_packed(uint64_t *id)
{
    *id = unlogged.packed - 1;
    return unlogged.told_packed;
}

void tic_looks_note_exposed(const struct tic_handle *handle)
{
    if (unlogged.exposed == 0 && tic_session_is_owner())
        unlogged.exposed = handle->id + 1;
}

static void tell_exposed(void)
{
    if (unlogged.exposed == 0 || unlogged.told_exposed || tic_session->recovered)
        return;
    unlogged.told_exposed = true;
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
           atomic_load(&tic_looks_visible) && !atomic_exchange(told, true);
}

void tic_looks_note_blind(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (may_tell(&told))
        tic_log(TIC_LOG_INFO,
                "task \"%s\" declares no data, and a restart executes it again; starpu-tic explain "
                "no-data",
                tic_task_name(task));
}

void tic_looks_note_reader(const struct starpu_task *task)
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

    if (told || tic_advice_saw(handle))
        return;
    told = true;
    char size[40] = "its interface packs it";
    if (!handle->packer)
        snprintf(size, sizeof(size), "%llu bytes",
                 (unsigned long long)tic_shape_bytes(&handle->layout.shape));
    tic_log(TIC_LOG_WARN,
            "main() goes on after waits, and may read data %llu (%s) as it is later; starpu-tic "
            "explain overwritten",
            (unsigned long long)handle->id, size);
}

void tic_looks_note_submission(void)
{
    if (!unlogged.waited)
        return;
    unlogged.waited = false;
    tell_large();
    tell_packed();
}

void tic_looks_tell(uint64_t waits, bool partial)
{
    if (partial)
        tell_time();
    unlogged.waited = waits > 0;
    if (waits > 1)
        tic_looks_note_submission();
    tell_exposed();
}
