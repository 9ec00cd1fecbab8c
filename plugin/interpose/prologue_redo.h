/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When prologues come in a restart. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* Those that had begun come when the history says so, with what they had read, and without the
 * task. True: another one had not, and comes with it. Under the submission lock, before the real
 * submission by main(). */
bool tic_prologue_redo(struct starpu_task *task, uint64_t key);
