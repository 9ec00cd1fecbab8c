/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reductions: contributions to accumulators, and tasks that fold them. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tic_handle;

/* On the owner thread, or after the end of protection; outside of the submission lock. */
void tic_redux_set_methods(struct tic_handle *handle, struct starpu_codelet *fold, void *fold_arg,
                           struct starpu_codelet *init, void *init_arg);
void tic_redux_inherit(struct tic_handle *child, const struct tic_handle *parent);
/* Makes the task contribute to accumulators, and folds those of other data that it uses. Needed
 * after the end of protection, too. Tells why it is not protected, or NULL. */
const char *tic_redux_on_submit(struct starpu_task *task);
/* Does that have anything to do? */
extern _Atomic unsigned tic_redux_open_count; /* accumulators with contributions; relaxed */
static inline bool tic_redux_concerns(struct starpu_task *task)
{
    unsigned buffers = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    enum starpu_data_access_mode modes = STARPU_NONE;

    for (unsigned i = 0; i < buffers; i++)
        modes |= STARPU_TASK_GET_MODE(task, i);
    return buffers > 0 && (modes & STARPU_REDUX ||
                           atomic_load_explicit(&tic_redux_open_count, memory_order_relaxed) > 0);
}

/* After the real submission. */
void tic_redux_after_submit(void);
/* Has this thread submitted a contribution, and not told that it is in StarPU? */
bool tic_redux_is_contributing(void);
/* Before any other access to the data (may be NULL): submits what brings its value up to date. True
 * when there was something. */
bool tic_redux_fold(struct tic_handle *handle);
/* Are there contributions that are not folded? Any thread. */
bool tic_redux_is_open(const struct tic_handle *handle);
/* Shares of other ranks, by main(): other data like this, which is added and leaves; where it went,
 * the value begins anew. For data with methods. */
bool tic_redux_has_methods(const struct tic_handle *handle);
starpu_data_handle_t tic_redux_open_share(struct tic_handle *handle);
void tic_redux_add_share(struct tic_handle *handle, starpu_data_handle_t share);
void tic_redux_begin_anew(struct tic_handle *handle);
/* The same for all data: main() is about to wait for all tasks, or protection ends. Any thread. */
void tic_redux_fold_all(void);
/* The data is about to leave, without a value that anybody reads; complete; and so are its parts.
 */
void tic_redux_drop(struct tic_handle *handle);
void tic_redux_end(struct tic_handle *handle);
void tic_redux_end_children(struct tic_handle *parent);
