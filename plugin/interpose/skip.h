/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that a restart does not execute, as they were done at the recovered cut. StarPU does not
 * hear of them, or gets a task without a kernel, where somebody may wait for their end. Under the
 * submission lock. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* What becomes of a submission. */
enum tic_verdict {
    TIC_PASS,    /* submit it; it is not ours, or it must run */
    TIC_CONTROL, /* done: submit it as a control task (changed in place) */
    TIC_DROP,    /* done and nobody refers to it: destroyed, do not submit */
    TIC_HELD,    /* do not submit it now */
};

/* Nobody but its callback hears of its end: no tag, no prologue, no structure that stays. */
bool tic_skip_ends_alone(const struct starpu_task *task);
/* Nobody at all does, nor waits for it: nobody can tell whether it ever entered StarPU. */
bool tic_skip_is_plain(const struct starpu_task *task);
/* The task was done. */
enum tic_verdict tic_skip_done(struct starpu_task *task, uint64_t key);
/* The task writes no data, and its kernel had begun: it runs again, without its tag, and whatever
 * else others know of its end; *kernel: to be submitted when it does, the task or a copy. The
 * callback comes with the task: no copy has it. */
enum tic_verdict tic_skip_kernel(struct starpu_task *task, uint64_t key,
                                 struct starpu_task **kernel);
/* The task was not done, but its result is kept: a task of ours writes it. */
enum tic_verdict tic_skip_with_value(struct starpu_task *task, uint64_t sequence);
