/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables of main() that it has named (starpu_tic_protect_memory): what a commit point keeps of
 * them. Whoever calls is main(), or nothing is protected. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/line.h"

/* 0; -EINVAL: no name, no memory, or the name is there; -EBUSY: they are closed; -EACCES: it is
 * memory that may not be written; -ENOMEM. */
int tic_variables_add(const char *name, void *memory, size_t bytes);
/* No more can be added. */
void tic_variables_close(void);
/* The name of one in memory that is not there any more, or may not be written; or NULL. */
const char *tic_variables_find_gone(void);
/* The name of one that holds an address of this process, or NULL. None is gone. */
const char *tic_variables_find_address(void);
/* Texts of a line: its place in the program, and bytes and name of each variable. 0 or -ENOMEM. */
int tic_variables_list(const char *place, struct tic_line_text *names);
/* What they hold, one after the other. 0 or -ENOMEM. */
int tic_variables_copy(struct tic_line_bytes *bytes);
/* What they held comes back. The names are the same. */
void tic_variables_give_back(const struct tic_line_bytes *bytes);
