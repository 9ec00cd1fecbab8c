/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recovery lines of a directory, and the data in one, in memory, for subcommands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* A line, as far as it could be read. */
struct tic_saved_line {
    char file[64];
    int status; /* 0: undamaged; else for tic_store_reason */
    uint64_t number, tasks_done, tasks_submitted, workers, runs;
    uint64_t handles, bytes;      /* of their values */
    double created;               /* seconds since 1970; 0: it could not be read */
    double period, cost, latency; /* s; latency 0: not measured */
};

struct tic_saved_lines {
    struct tic_saved_line *items; /* the newest first */
    unsigned long count, capacity;
    char *program, *arguments; /* of the newest one that could be read; arguments with spaces */
    struct tic_line newest;    /* the newest undamaged one, whole */
    bool has_newest;
};

/* Without their rows. Names of data that the newest undamaged one has are known from then on
 * (base/names.h). 0 or -errno. */
int tic_saved_read(struct tic_store *store, struct tic_saved_lines *lines);
void tic_saved_clear(struct tic_saved_lines *lines);

uint64_t tic_saved_value_bytes(const struct tic_line *line, const struct tic_line_value *value);
/* The datum of this name, as far as names are known, with a value in the line. 0; -ENOENT: there is
 * none; -EEXIST: there are several. */
int tic_saved_find_name(const struct tic_line *line, const char *name, uint64_t *id);
/* "1200 x 800 of 8 bytes". */
void tic_saved_shape_text(char *text, unsigned size, const struct tic_shape *shape);
