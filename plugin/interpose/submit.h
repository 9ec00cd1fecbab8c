/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Submissions of tasks. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "interpose/skip.h"

struct tic_spawn;

enum tic_verdict tic_submit_on_before(struct starpu_task *task);
/* StarPU did not take the task. */
void tic_submit_on_refused(struct starpu_task *task);
