/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What differs between the StarPU versions that one source tree is built for. Besides this file,
 * the tables and grids.c beside it, only wrappers ask for the version. */
#pragma once

#include <starpu.h>

#include "real/since.h"

/* starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids, where all acquisitions with a
 * callback end. */
#if TIC_STARPU_1_4
#define TIC_ACQUIRE_JOBIDS_PARAMETERS                                                              \
    (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode,                       \
     void (*acquired)(void *, int *, enum starpu_data_access_mode), void (*callback)(void *),      \
     void *arg, int sequential, int quick, long *before, long *after, int priority)
#define TIC_ACQUIRE_JOBIDS_ARGUMENTS                                                               \
    (data, node, mode, acquired, callback, arg, sequential, quick, before, after, priority)
/* Of these, what a call that is made later has. */
#define TIC_ACQUIRE_JOBIDS_PRIORITY priority
#define TIC_ACQUIRE_JOBIDS_LATER(call, callback, arg)                                              \
    ((call)->data, (call)->node, (call)->mode, NULL, callback, arg, (call)->sequential,            \
     (call)->quick, NULL, NULL, (call)->priority)
#else
#define TIC_ACQUIRE_JOBIDS_PARAMETERS                                                              \
    (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode,                       \
     void (*callback)(void *), void *arg, int sequential, int quick, long *before, long *after)
#define TIC_ACQUIRE_JOBIDS_ARGUMENTS                                                               \
    (data, node, mode, callback, arg, sequential, quick, before, after)
#define TIC_ACQUIRE_JOBIDS_PRIORITY 0
#define TIC_ACQUIRE_JOBIDS_LATER(call, callback, arg)                                              \
    ((call)->data, (call)->node, (call)->mode, callback, arg, (call)->sequential, (call)->quick,   \
     NULL, NULL)
#endif

/* Why a task that has run is not protected because of what only newer versions know, or NULL. */
static inline const char *tic_version_why_not_ended(const struct starpu_task *task)
{
#if TIC_STARPU_1_4
    if (task->cl_ret)
        return "results in cl_ret, which a restart that skips the task would not have, are not "
               "protected yet";
#else
    (void)task;
#endif
    return NULL;
}

/* Why a task is not protected because of what only newer versions know, or NULL. */
static inline const char *tic_version_why_not(const struct starpu_task *task)
{
#if TIC_STARPU_1_4
    if (task->epilogue_callback_func)
        return "tasks with epilogue callbacks are not protected yet";
    if (task->transaction)
        return "transactions are not protected yet";
    if (task->bubble_func || task->cl->bubble_func)
        return "bubbles (tasks that become a task graph) are not protected yet";
    return tic_version_why_not_ended(task);
#else
    (void)task;
    return NULL;
#endif
}
