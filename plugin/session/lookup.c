/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From StarPU's data handle to our record of it. */
#include "session/lookup.h"

#include <string.h>

#include "session/context.h"
#include "real/real.h"

/* StarPU keeps user data at the far end of a large structure, which nobody else touches when a task
 * is submitted: the owner thread remembers what it registered. Entries lie like the structures, so
 * that neighbours share cache lines. */
enum { NEAR_COUNT = 16384, NEAR_SHIFT = 11 };
static struct {
    starpu_data_handle_t data;
    struct tic_handle *handle;
} near[NEAR_COUNT]; /* owner thread only, while it is watching */

static size_t near_index(starpu_data_handle_t data)
{
    return ((uintptr_t)data >> NEAR_SHIFT) % NEAR_COUNT;
}

void tic_data_remember(starpu_data_handle_t data, struct tic_handle *handle)
{
    if (!tic_is_owner || tic_session->report) /* which goes on where others unregister data */
        return;
    near[near_index(data)].data = data;
    near[near_index(data)].handle = handle;
}

/* It leaves: StarPU may put something else there. */
void tic_data_forget(starpu_data_handle_t data)
{
    if (tic_is_owner && near[near_index(data)].data == data)
        near[near_index(data)].data = NULL;
}

/* StarPU stops, and takes all data with it. */
void tic_data_forget_all(void)
{
    if (tic_is_owner)
        memset(near, 0, sizeof(near));
}

struct tic_handle *tic_handle_of(starpu_data_handle_t data)
{
    if (tic_is_owner && near[near_index(data)].data == data && atomic_load(&tic_session->watching))
        return near[near_index(data)].handle;
    struct tic_handle *handle = tic_real.starpu_data_get_user_data(data);
    return handle && !handle->foreign ? handle : NULL;
}

bool tic_data_keep_user_data(starpu_data_handle_t data, void *user_data)
{
    struct tic_handle *handle = tic_real.starpu_data_get_user_data(data);

    if (!handle) { /* data that protection does not know */
        handle = tic_handle_create(UINT64_MAX);
        if (!handle)
            return false;
        handle->foreign = true;
        handle->empty = TIC_WITHOUT_CONTENT;
        tic_real.starpu_data_set_user_data(data, handle);
    }
    handle->use.user_data = user_data;
    return true;
}
