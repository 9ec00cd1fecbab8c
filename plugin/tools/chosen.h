/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recovery line that arguments of a subcommand name. */
#pragma once

#include <stdbool.h>

#include "store/store.h"

struct tic_chosen {
    struct tic_store store;
    bool is_open;
    struct tic_line line; /* whole; its rows were not read */
    bool has_line;
};

/* Names of data that the line has are known from then on (base/names.h).
 * path: a directory, or the file of a line in it. number: of the line in a directory; 0: the
 * newest that can be read but for the first `skip` of these. 0, or -1 after a message. */
int tic_chosen_open(struct tic_chosen *chosen, const char *path, uint64_t number, unsigned skip);
void tic_chosen_close(struct tic_chosen *chosen);

/* A whole number from 0 on. */
/* One above 0, of a uint64_t: an option. */
bool tic_chosen_take_number(const char *value, void *to);
bool tic_chosen_parse_number(const char *text, uint64_t *number);
