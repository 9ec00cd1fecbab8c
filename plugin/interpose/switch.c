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
    struct starpu_task *task = tic_or_stop(tic_task_create());

    task->cl = &whole_codelet;
    task->handles[0] = data;
    if (!tic_task_submit(task))
        tic_stop(TIC_EXIT_REFUSED, "internal error: StarPU refuses a task that ends partitions");
}

static bool is_readonly(enum tic_switch kind)
{
    return kind == TIC_SWITCH_PARTITION_READONLY || kind == TIC_SWITCH_READONLY_ITSELF;
}

/* The mode of the only partition in force changes. Whatever skipped tasks have left in force: from
 * the whole. */
static enum tic_switch change_mode(starpu_data_handle_t data, enum tic_switch kind, unsigned plans)
{
    if (plans > 0)
        leave_partitions(data);
    return kind == TIC_SWITCH_UPGRADE ? TIC_SWITCH_PARTITION : TIC_SWITCH_PARTITION_READONLY;
}

enum tic_switch tic_switch_before(starpu_data_handle_t data, enum tic_switch kind)
{
    struct tic_handle *handle = find(data);

    if (!handle)
        return kind;
    unsigned plans = atomic_load(&handle->use.plans.active);
    if (kind == TIC_SWITCH_UPGRADE || kind == TIC_SWITCH_DOWNGRADE)
        return change_mode(data, kind, plans);
    bool readonly = atomic_load(&handle->use.plans.readonly);
    if (plans > 0 && (kind == TIC_SWITCH_PARTITION || (is_readonly(kind) && !readonly)))
        leave_partitions(data);
    bool ends = kind == TIC_SWITCH_UNPARTITION || kind == TIC_SWITCH_UNPARTITION_READONLY;
    return plans == 0 && ends ? TIC_SWITCH_NOTHING : kind;
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
        atomic_fetch_add(&handle->use.plans.active, 1);
        atomic_store(&handle->use.plans.readonly, is_readonly(kind));
        break;
    case TIC_SWITCH_UPGRADE:
        atomic_store(&handle->use.plans.readonly, false);
        break;
    case TIC_SWITCH_UNPARTITION:
        if (atomic_load(&handle->use.plans.active) > 0 &&
            atomic_fetch_sub(&handle->use.plans.active, 1) == 1)
            atomic_store(&handle->use.plans.readonly, false);
        break;
    case TIC_SWITCH_DOWNGRADE:
    case TIC_SWITCH_UNPARTITION_READONLY:
        atomic_store(&handle->use.plans.readonly, true);
        break;
    case TIC_SWITCH_ALL:
    case TIC_SWITCH_NOTHING:
        break;
    }
}
