/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the program calls before main() is at the recovered cut, and StarPU
 * is not to hear of until then. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "interpose/admit.h"
#include "interpose/skip.h"
#include "replay/replay.h"

/* StarPU has started: the replay begins, if main() is not at the recovered cut. Owner thread. */
void tic_redo_start(struct tic_session *session);

/* main() begins its next operation, at the position that it has come to. */
void tic_redo_begin(enum tic_replay_operation operation);
/* The task was not done: it is submitted when the queue is played or, if it writes no data and had
 * begun, when the history says so. Under the submission lock. False when the replay is over. */
bool tic_redo_task_locked(struct starpu_task *task, const struct tic_submission *submission,
                          enum tic_verdict *verdict);
/* A task without a kernel comes after queued tasks that use its data, or at the cut if its
 * callbacks read and it had not begun. False: it comes now. */
bool tic_redo_queue_control_locked(struct starpu_task *task,
                                   const struct tic_submission *submission, bool reads);
/* Do queued tasks use the data? handle: NULL, data that is not protected. */
bool tic_redo_is_queued(const struct tic_handle *handle);
enum tic_redo_call_kind {
    TIC_REDO_EXCLUDES, /* comes after all who use the data before it */
    TIC_REDO_SHARES,   /* does not wait for queued tasks that read it */
    TIC_REDO_LEAVES,   /* as the first; and the data goes */
};
/* A call that the replay keeps, on data that queued tasks, or actors that have not begun, use,
 * comes after them: true, it is kept, with so many bytes of its argument. */
bool tic_redo_queue_call(struct tic_handle *handle, void (*play)(void *), const void *argument,
                         size_t size, enum tic_redo_call_kind kind);
/* It is queued, and what comes later on the data comes after it. */
bool tic_redo_queue(struct tic_handle *handle, void (*play)(void *), const void *argument,
                    size_t size);
/* Is the program's call one that the replay keeps from StarPU? Not while it plays. */
bool tic_redo_keeps(void);
