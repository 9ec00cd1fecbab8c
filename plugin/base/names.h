/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of data, as the program has given them, or a recovery line has them. */
#pragma once

#include <stdint.h>

enum { TIC_NAME_BYTES = 64 }; /* that count of a name */

/* Names the datum with this number of registration; a name that it had is replaced. 0, -ENOMEM, or
 * -ENOSPC: there are too many. Any thread. */
int tic_names_set(uint64_t id, const char *name);
/* Behind the number in a message: a blank and the name in quotation marks; empty: it has none. It
 * stays where it is. Any thread. */
const char *tic_name_of(uint64_t id);
/* The name alone; NULL: it has none. It stays where it is. Any thread. */
const char *tic_name_plain(uint64_t id);
/* Calls visit for each datum that has a name, by ascending number; it must not ask for names. Any
 * thread. */
typedef void (*tic_names_visit)(void *arg, uint64_t id, const char *name);
void tic_names_each(tic_names_visit visit, void *arg);
