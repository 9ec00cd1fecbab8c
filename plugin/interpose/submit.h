/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Submissions of tasks. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "interpose/skip.h"

struct tic_handle;
struct tic_spawn;

enum tic_verdict tic_submit_on_before(struct starpu_task *task);
/* StarPU did not take the task. */
void tic_submit_on_refused(struct starpu_task *task);
/* A message is asked for that comes into this data. Why protection ends then, and by which task, or
 * NULL. Under the submission lock. */
const char *tic_submit_refuse_message_locked(const struct tic_handle *handle, const char **task);
