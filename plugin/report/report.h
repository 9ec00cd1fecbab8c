/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic check` asks of a run (STARPU_TIC_REPORT): the program runs as it would under
 * protection, but nothing is saved; what it does is counted, what cannot be protected is noted
 * instead of ending protection. Any thread. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/context.h"

/* Reads the events of another run, so that this one gets the same, and listens (base/lint.h). False
 * when out of memory. */
bool tic_report_begin(struct tic_graph *graph, const char *events);
/* These two do nothing without a report. After its identity is known; id: of a spawned task. */
void tic_report_task(struct starpu_task *task, enum tic_context context, uint64_t id);
void tic_report_note(enum tic_lint_note what, const struct tic_handle *handle);
