/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pointers in arguments of tasks. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

struct tic_accesses;

/* Why the memory that this task reaches through pointers ends protection, or NULL. */
const char *tic_pointers_refuse(const struct starpu_task *task,
                                const struct tic_accesses *accesses);
/* A task of main(). True: a pointer was found in its arguments. */
bool tic_pointers_note(const struct starpu_task *task, const struct tic_accesses *accesses);
