/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of data (base/names.h) in a recovery line. */
#pragma once

#include <stdbool.h>

#include "store/line.h"

/* All names that are known now (malloc'ed). 0 or -ENOMEM. Any thread. */
int tic_data_names_describe(struct tic_line_text *names);
/* They become known, in place of those that were known of the same data; as many as there is room
 * for. 0 or -ENOMEM. */
int tic_data_names_load(const struct tic_line_text *names);
/* Are they entries as schema.h has them, by ascending number? */
bool tic_data_names_are_sane(const struct tic_line_text *names);
