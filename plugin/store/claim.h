/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who uses a store: the content of its lock file. exec() leaves a process its number and its start,
 * and runs none of its exit handlers: the program that follows finds the lines of the one before,
 * and must not take them for its own. */
#pragma once

#include <stdbool.h>

/* Has another program of this very process written the lock file, before exec? False, too, where
 * /proc does not tell what this process is. */
bool tic_claim_is_followed(int file);
/* The same of the lock file in this directory, before this program has locked it: a lock would go
 * with the descriptor. */
bool tic_claim_is_followed_in(const char *directory);
/* Writes what this process is: 0, also where that is not known; or -errno. */
int tic_claim_write(int file);
