/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/switch.h"

#include "base/error.h"
#include "real/real.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/task.h"

/* NULL also in a first run, where StarPU sees every task. */
static struct tic_handle *find(starpu_data_handle_t data)
{
    return tic_session_watches() && tic_session->recovered ? tic_handle_of(data) : NULL;
}

static struct starpu_codelet whole_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_RW}, .name = "tic_switch"};

/* There was none in force when the program asked for this in its first run, or StarPU would have
 * stopped it. A task that uses the whole lets StarPU end them. */
static void leave_partitions(starpu_data_handle_t data)
{
    struct starpu_task *task = tic_task_create();

    if (!task)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    task->cl = &whole_codelet;
    task->handles[0] = data;
    tic_guard++;
    if (tic_real.starpu_task_submit(task) != 0)
        tic_stop(TIC_EXIT_REFUSED, "internal error: StarPU refuses a task that ends partitions");
    tic_guard--;
}

/* StarPU would abort: it has exactly this partition in force, in the other mode, where a program
 * changes the mode. */
static void check_state(const struct tic_handle *handle, enum tic_switch kind, unsigned plans,
                        bool readonly)
{
    bool upgrades = kind == TIC_SWITCH_UPGRADE;

    if ((upgrades || kind == TIC_SWITCH_DOWNGRADE) && (plans != 1 || readonly != upgrades))
        tic_stop(TIC_EXIT_REFUSED,
                 "the restart cannot make the planned partition of handle %llu %s: it came into "
                 "force by tasks that are skipped. Ask for it by "
                 "starpu_data_partition_submit or starpu_data_partition_readonly_submit",
                 (unsigned long long)handle->id, upgrades ? "writable" : "read-only");
}

static bool is_readonly(enum tic_switch kind)
{
    return kind == TIC_SWITCH_PARTITION_READONLY || kind == TIC_SWITCH_READONLY_ITSELF;
}

bool tic_switch_before(starpu_data_handle_t data, enum tic_switch kind)
{
    struct tic_handle *handle = find(data);

    if (!handle)
        return true;
    unsigned plans = atomic_load(&handle->plans.active);
    bool readonly = atomic_load(&handle->plans.readonly);
    check_state(handle, kind, plans, readonly);
    if (plans > 0 && (kind == TIC_SWITCH_PARTITION || (is_readonly(kind) && !readonly)))
        leave_partitions(data);
    return plans > 0 || (kind != TIC_SWITCH_UNPARTITION && kind != TIC_SWITCH_UNPARTITION_READONLY);
}

void tic_switch_note(starpu_data_handle_t data, enum tic_switch kind)
{
    struct tic_handle *handle = find(data);

    if (!handle || (kind == TIC_SWITCH_READONLY_ITSELF && tic_guard > 0))
        return;
    switch (kind) {
    case TIC_SWITCH_PARTITION:
    case TIC_SWITCH_PARTITION_READONLY:
    case TIC_SWITCH_READONLY_ITSELF:
        atomic_fetch_add(&handle->plans.active, 1);
        atomic_store(&handle->plans.readonly, is_readonly(kind));
        break;
    case TIC_SWITCH_UPGRADE:
        atomic_store(&handle->plans.readonly, false);
        break;
    case TIC_SWITCH_UNPARTITION:
        if (atomic_load(&handle->plans.active) > 0 &&
            atomic_fetch_sub(&handle->plans.active, 1) == 1)
            atomic_store(&handle->plans.readonly, false);
        break;
    case TIC_SWITCH_DOWNGRADE:
    case TIC_SWITCH_UNPARTITION_READONLY:
        atomic_store(&handle->plans.readonly, true);
        break;
    case TIC_SWITCH_ALL:
        break;
    }
}
