/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where StarPU, or we, have or had a structure or a table: variables of the program may point there
 * long after they freed the memory that lay there. A bit for each place, by its hash: says so of
 * some other places, too. Any thread. */
#ifndef TIC_BASE_STRUCTURES_H
#define TIC_BASE_STRUCTURES_H

#include <stdbool.h>

void tic_structure_note(const void *at);
bool tic_structure_was(const void *at);

#endif
