/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery lines of other machines: whether they mean the same here, and the other byte order.
 * Owner thread, before the checkpoint thread starts. */
#pragma once

#include <stdbool.h>

#include "store/store.h"

/* Was it written on another architecture? False also where that is not known. */
bool tic_convert_is_other(const struct tic_line *line);
/* Has it the other byte order? */
bool tic_convert_is_swapped(const struct tic_line *line);
/* Stops the start, with a message that names it, if something of the line means something else on
 * this machine. */
void tic_convert_check(const char *path, const struct tic_line *line);

/* Makes a line with the same content in this machine's byte order, which is then the newest one;
 * `line` is the newest, complete and checked. Values whose type nobody has declared stop the start.
 * The line is changed, and to be cleared. 0 or -errno. */
int tic_convert_line(struct tic_store *store, struct tic_line *line);
