/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A history for a line of a version without them. */
#ifndef TIC_HISTORY_MADE_H
#define TIC_HISTORY_MADE_H

#include <stddef.h>

#include "store/line.h"

/* Callbacks begin in their order, at the operation of main() in which they began; those that may
 * look at data end before the next one begins, as the tables do not say when they ended: StarPU
 * gives nobody other content meanwhile. Kernels stand at the end, as the tables do not say when
 * they began: they begin when the program comes to them, one after the other, with what they read.
 * Of main() there is nothing, as positions of its accesses are not known: their order is. 0 or
 * -ENOMEM; the entries are the caller's. */
int tic_history_make(const struct tic_line *line, struct tic_line_entry **entries, size_t *count);

#endif
