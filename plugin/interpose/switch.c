/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/switch.h"

#include "real/real.h"
#include "session/context.h"
#include "session/lookup.h"

/* NULL also in a first run, where StarPU sees every task. */
static struct tic_handle *find(starpu_data_handle_t data)
{
    return tic_session_watches() && tic_session->recovered ? tic_handle_of(data) : NULL;
}

/* There was none in force when the program asked for this in its first run, or StarPU would have
 * stopped it. */
static void leave_partitions(starpu_data_handle_t data)
{
#if !TIC_STARPU_1_4
    if (tic_real.starpu_data_unpartition_submit_r) {
        tic_guard++;
        tic_real.starpu_data_unpartition_submit_r(data, STARPU_MAIN_RAM);
        tic_guard--;
    }
#else
    (void)data;
#endif
}

bool tic_switch_before(starpu_data_handle_t data, enum tic_switch kind)
{
    struct tic_handle *handle = find(data);

    if (!handle)
        return true;
    unsigned plans = atomic_load(&handle->plans.active);
    bool readonly = atomic_load(&handle->plans.readonly);
    if (plans > 0 &&
        (kind == TIC_SWITCH_PARTITION || (kind == TIC_SWITCH_PARTITION_READONLY && !readonly)))
        leave_partitions(data);
    return plans > 0 || (kind != TIC_SWITCH_UNPARTITION && kind != TIC_SWITCH_UNPARTITION_READONLY);
}

void tic_switch_note(starpu_data_handle_t data, enum tic_switch kind)
{
    struct tic_handle *handle = find(data);

    if (!handle)
        return;
    switch (kind) {
    case TIC_SWITCH_PARTITION:
    case TIC_SWITCH_PARTITION_READONLY:
        atomic_fetch_add(&handle->plans.active, 1);
        atomic_store(&handle->plans.readonly, kind == TIC_SWITCH_PARTITION_READONLY);
        break;
    case TIC_SWITCH_UPGRADE:
        atomic_store(&handle->plans.readonly, false);
        break;
    case TIC_SWITCH_UNPARTITION:
        if (atomic_load(&handle->plans.active) > 0 &&
            atomic_fetch_sub(&handle->plans.active, 1) == 1)
            atomic_store(&handle->plans.readonly, false);
        break;
    case TIC_SWITCH_UNPARTITION_READONLY:
        atomic_store(&handle->plans.readonly, true);
        break;
    case TIC_SWITCH_ALL:
        break;
    }
}
