/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the arguments of a task are (starpu_task.cl_arg), as far as they tell it apart from others
 * in another run, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <starpu.h>

#include "store/line.h"

/* Do they seem to hold a pointer? */
bool tic_packed_has_pointer(const struct starpu_task *task);
/* Those, `most` at most: how many. */
unsigned tic_packed_pointers(const struct starpu_task *task, const char **pointers, unsigned most);
/* They are a number, in the place of an address of cl_arg_size bytes. */
bool tic_packed_is_number(const struct starpu_task *task);
/* Adds what can tell tasks apart to the hash. False when there may be more. *bound: on what other
 * machines it is another one; sum of enum tic_bound. */
bool tic_packed_hash(const struct starpu_task *task, uint64_t *hash, unsigned *bound);
/* A hash of the numbers that StarPU has packed (STARPU_VALUE), but for addresses; 0: there are
 * none, or they belong to the program. */
uint64_t tic_packed_values(const struct starpu_task *task);
