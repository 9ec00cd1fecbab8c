/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of memory that main(), callbacks or kernels may read, and that is not logged. */
#pragma once

#include <jansson.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_accesses;
struct tic_handle;

/* A task is submitted. It may read memory that it does not declare, or, in a restart, a copy;
 * main() goes on with what it sees; a callback may read data that is not logged. Under the
 * submission lock. */
void tic_looks_note_task(struct starpu_task *task, const struct tic_accesses *accesses,
                         bool by_main);
/* main() unregisters the data without coherency, and may read it by its pointer. */
void tic_looks_note_left(const struct tic_handle *handle);
/* Data that is not logged was registered: it is too large, or its interface packs it. */
void tic_looks_note_unlogged(const struct tic_handle *handle);
/* In a replay main() has waited, and this data is not what it was then: later tasks write it. */
void tic_looks_tell_overwritten(const struct tic_handle *handle);
/* main() waits: in a run of `starpu-tic check` nothing is logged. */
void tic_looks_note_wait(void);
/* main() has waited so often; partial: not all data were compared this time. */
void tic_looks_tell(uint64_t waits, bool partial);
/* Adds what was said, or would have been, to a report: data that its interface packs and main() may
 * look at; tasks with callbacks that declare such, or whose callbacks may read what they do not
 * declare. */
void tic_looks_report(json_t *report);
