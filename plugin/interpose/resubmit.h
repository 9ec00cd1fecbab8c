/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that tasks had submitted, submitted again in a restart. */
#pragma once

#include <starpu.h>
#include <stdint.h>

#include "graph/spawn.h"
#include "interpose/skip.h"

/* What becomes of one. Takes over what the model owns. */
typedef enum tic_verdict tic_spawn_admit(struct starpu_task *task, const struct tic_spawn *model);
/* A task was skipped: submits those that it had submitted, and that the line keeps. */
void tic_spawn_submit_kept(uint64_t root, tic_spawn_admit *admit);
