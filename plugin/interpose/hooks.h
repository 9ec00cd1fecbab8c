/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks around those of the scheduling policies. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_session;

/* main() has waited for the task, whose structure stays: StarPU runs no hook at the end of its own.
 */
void tic_hooks_end_waited(const struct starpu_task *task);
/* Tasks that main() has submitted have ended, with numbers from the first to before the second, and
 * StarPU does not tell: they are its own. */
void tic_hooks_end_submitted(uint64_t from, uint64_t to);
void tic_hooks_install(struct tic_session *session);
/* Under the submission lock: makes the policy of the task's scheduling context call our
 * hooks, too. False when that context has none. */
bool tic_hooks_cover(const struct starpu_task *task);
bool tic_hooks_cover_context(unsigned context); /* tasks of another one may come to it */
