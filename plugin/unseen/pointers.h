/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pointers in arguments of tasks. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_accesses;

/* Why the memory that this task reaches through pointers ends protection, or NULL.
 * kernel: it has one that runs. */
const char *tic_pointers_refuse(const struct starpu_task *task, const struct tic_accesses *accesses,
                                bool kernel);
/* A task of main(): the first one with a pointer in its arguments is named in a message. */
void tic_pointers_note(const struct starpu_task *task, const struct tic_accesses *accesses);
/* It is not: `starpu-tic check` has told of all. Before the first task. */
void tic_pointers_silence(void);
