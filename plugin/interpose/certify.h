/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Certification (STARPU_TIC_CERTIFY): a random sample of the tasks is executed twice, on two
 * workers where that is possible, and what the executions wrote is compared before anybody else
 * sees it (Krings, Roch, Jafar and Varrette, probabilistic certification). A difference ends the
 * process with TIC_EXIT_DIFFERS. Believed: that kernels write nothing but what their tasks declare,
 * and compute the same from the same. */
#ifndef TIC_INTERPOSE_CERTIFY_H
#define TIC_INTERPOSE_CERTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/retry.h"

struct tic_settings;

/* Draws a seed, if the settings name none, and tells it. Before the first task. */
void tic_certify_set(const struct tic_settings *settings);
bool tic_certify_is_on(void);
/* Is the task in the sample, and one that can be executed twice? Counts those that cannot. */
bool tic_certify_wants(struct tic_execution *execution);
/* A device or a slave executes the kernel of this task, and so nobody can execute it a second time:
 * counts it, if it is in the sample. */
void tic_certify_leave_out(uint64_t key);
/* Its kernel was executed once, and what it writes was kept before: executes it again, and
 * compares.
 */
void tic_certify(struct tic_execution *execution, int first);

#endif
