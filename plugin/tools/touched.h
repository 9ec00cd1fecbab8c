/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For starpu-tic check and rehearse: data that main() touches by plain pointers, in plain words,
 * and as advice for runs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* "NAME=VALUE" for a run in which data is closed to main(), and which writes a report; NULL ends.
 */
extern const char *const tic_tool_closed_run[];

/* Was anything found? */
bool tic_tool_has_touched(const json_t *report);
void tic_tool_tell_touched(const json_t *report);
/* Was all data that tasks wrote watched, whenever main() had waited? */
bool tic_tool_has_watched_all(const json_t *report);
/* Writes it, a new file in the place of an older one. 0 or -errno. */
int tic_tool_write_advice(const json_t *report, const char *path);
/* The same where runs of the same command look for it, or in the file `chosen`. If nothing was
 * found, advice that is there is replaced, and always written if `always` says so. Its path, to be
 * freed, if anything was found; or NULL. A message if it cannot be written. */
char *tic_tool_leave_advice(const json_t *report, const char *chosen, bool always);
