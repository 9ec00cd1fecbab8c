/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that run, before the real submission. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/spawn.h"
#include "interpose/skip.h"
#include "session/context.h"

struct tic_accesses;

/* What is known of a submission before its fate is decided. */
struct tic_submission {
    enum tic_context context;
    uint64_t sequence;      /* main context */
    struct tic_spawn spawn; /* other contexts */
    struct tic_accesses *accesses;
};

uint64_t tic_submission_key(const struct tic_submission *submission);
/* What submitted tasks use and write. live: the task runs. executes: as tic_data_note_use(). Under
 * the submission lock, as all that follows. */
void tic_admit_note_uses(const struct tic_accesses *accesses, bool executes);
void tic_admit_note_writes(const struct tic_accesses *accesses, bool live);
/* What a queued task writes is valid to what comes after it. */
void tic_admit_note_valid(const struct tic_accesses *accesses);
/* The task is not done. A result that the event log has stands for it; else the log gets what
 * main() submits, and it runs. */
enum tic_verdict tic_admit_undone(struct starpu_task *task, struct tic_submission *submission);
/* The key of a task without a kernel that is submitted now. */
uint64_t tic_control_key(enum tic_context context);
/* All this for a task that may use data that protection does not know. */
void tic_admit(struct starpu_task *task, struct tic_submission *submission);

/* Marks a live task that main() has not submitted. False when out of memory. Under the submission
 * lock. */
bool tic_admit_register(struct starpu_task *task, const struct tic_spawn *model);
