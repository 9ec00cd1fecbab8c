/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For starpu-tic check: data that main() touches by plain pointers, in plain words, and as advice
 * for runs. */
#ifndef TIC_TOOLS_TOUCHED_H
#define TIC_TOOLS_TOUCHED_H

#include <jansson.h>
#include <stdbool.h>

/* Was anything found? */
bool tic_tool_has_touched(const json_t *report);
void tic_tool_tell_touched(const json_t *report);
/* Where advice belongs that runs of the same command follow; NULL when out of memory. */
char *tic_tool_advice_path(const json_t *report);
/* Writes it, a new file in the place of an older one. 0 or -errno. */
int tic_tool_write_advice(const json_t *report, const char *path);

#endif
