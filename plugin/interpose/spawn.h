/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that callbacks, tasks and other threads submit. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/context.h"

struct tic_spawn;

/* main() submits its task of this number. */
void tic_spawn_note_main(uint64_t sequence);
/* Tasks so far that a restart submits anew, as their kernel, callback or thread does. */
uint64_t tic_spawn_count_anew(void);
/* Who the submitted task is; content: what it does. Fills a model for tic_spawn_register. Or tells
 * why it cannot be protected. */
const char *tic_spawn_identify(struct starpu_task *task, enum tic_context context, uint64_t content,
                               struct tic_spawn *spawn);
/* Marks a live task. Takes over what the model owns. False when out of memory. */
bool tic_spawn_register(struct starpu_task *task, const struct tic_spawn *model);
