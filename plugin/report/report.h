/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic check` asks of a run (STARPU_TIC_REPORT): the program runs as it would under
 * protection, but nothing is saved; what it does is counted, what cannot be protected is noted
 * instead of ending protection. All functions do nothing when there is no report. Any thread. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/context.h"

struct tic_report;

/* Reads the events of another run, so that this one gets the same. NULL when out of memory. */
struct tic_report *tic_report_create(struct tic_graph *graph, const char *events);
void tic_report_problem(struct tic_report *report, const char *what, const char *why);
/* After its identity is known; id: of a spawned task, else 0. */
void tic_report_task(struct tic_report *report, struct starpu_task *task, enum tic_context context,
                     uint64_t id);
void tic_report_register(struct tic_report *report, const struct tic_handle *handle);
/* starpu_execute_on_each_worker and the like. */
void tic_report_each_worker(struct tic_report *report);
void tic_report_partition(struct tic_report *report, bool planned);
/* main() gets the data back. */
void tic_report_data(struct tic_report *report, uint64_t id, const struct tic_layout *layout);
/* Returns 0 or -EIO. */
int tic_report_write(struct tic_report *report, struct tic_session *session);
