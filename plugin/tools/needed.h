/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Libraries that a program needs to come first, of all that are preloaded. */
#ifndef TIC_TOOLS_NEEDED_H
#define TIC_TOOLS_NEEDED_H

#include <limits.h>
#include <stdbool.h>

/* The run-time library of AddressSanitizer, if the file is a program that is linked with it; its
 * name as the program has it. */
bool tic_needed_first(const char *path, char library[NAME_MAX + 1]);

#endif
