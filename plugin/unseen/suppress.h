/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables, sections and objects that tasks may write although nobody registered them: a table of
 * known ones (suppressions.def), and the user's file. Guarded by the lock of statics.c. */
#pragma once

#include "unseen/spans.h"

/* The file of the user, or "": before the first of the following. A file that cannot be read, or
 * with a line that is none, stops the program with status 78. */
void tic_suppress_read(const char *path);
/* Is all of an object meant? Its file's name, without folders. */
bool tic_suppress_has_object(const char *name);
/* Adds what is meant of the object that has this address in it to known; once for each object.
 * True: the first time. */
bool tic_suppress_add(const void *address, struct tic_spans *known);
