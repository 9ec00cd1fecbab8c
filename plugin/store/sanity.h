/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the numbers of a line that was read make sense: nothing in a line is used before. */
#pragma once

#include <stdbool.h>

#include "store/line.h"

/* Of a segment or of a line. */
bool tic_extent_is_sane(const struct tic_line_extent *extent);
/* All but the tables whose entries may lie in blocks; with it, that the blocks can be read. */
bool tic_line_is_sane(const struct tic_line *line);
/* Those tables, of a line that is complete. */
bool tic_line_tables_are_sane(const struct tic_line *line);
