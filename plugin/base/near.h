/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What somebody meant who has mistyped a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is the first name, of this length, the other one but for two letters at most (Levenshtein
 * distance, and half of the name at most)? */
bool tic_near(const char *name, size_t length, const char *other);
