/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of data, as the program has given them, for messages. */
#ifndef TIC_BASE_NAMES_H
#define TIC_BASE_NAMES_H

#include <stdint.h>

/* Names the datum with this number of registration; a name that it had is replaced. 0, -ENOMEM, or
 * -ENOSPC: there are too many. Any thread. */
int tic_names_set(uint64_t id, const char *name);
/* Behind the number in a message: a blank and the name in quotation marks; empty: it has none. It
 * stays where it is. Any thread. */
const char *tic_name_of(uint64_t id);

#endif
