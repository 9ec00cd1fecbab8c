/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The standard input of a program that runs several times: read once, the same for each run. */
#pragma once

#include <stdbool.h>

/* Reads the standard input to its end into a new file. *any: it was not empty. A terminal counts as
 * empty. False after a message. */
bool tic_input_save(const char *path, bool *any);
/* In a child, before it becomes the program: makes the file its standard input. */
bool tic_input_give(const char *path);
