/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that nothing can be preloaded into. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* As execvp() finds it. False: nowhere. */
bool tic_reach_find(const char *command, char path[PATH_MAX]);
/* Says so, before the command is run, if its file is one. What it starts may be protected
 * nevertheless. */
void tic_reach_tell(const char *command);
/* Is the command a launcher of several processes, or this one of several? Says, on the first of
 * them, that `subcommand` does not look at these. */
bool tic_reach_is_parallel(const char *command, const char *subcommand);
