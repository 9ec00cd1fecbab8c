/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file ranks-<part> beside a part: which insertions its rank had entered at the cut, and what
 * its values are results of. So a restart on another number of ranks can begin from all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mpi/line.h"

enum tic_insertion_state {
    TIC_INSERTION_ELSEWHERE, /* another rank executes it */
    TIC_INSERTION_LIVE,      /* this rank does, and had not at the cut */
    TIC_INSERTION_DONE,
    TIC_INSERTION_BEFORE, /* it was done when the run began, on another number of ranks */
};

struct tic_insertion {
    uint64_t what; /* hash of its codelet, modes, and arguments that can be compared */
    uint64_t data; /* of the tags and sizes of its data; 0: its rank lacks some, as it may */
    uint64_t state;
};

/* May they be one? */
bool tic_insertion_is(const struct tic_insertion *one, const struct tic_insertion *other);

/* The value of a datum on this rank. Label: the number, from 1, of the insertion whose result it
 * is, of several that commute of the first; 0: main() made it. Last: of these the last in it. */
struct tic_labelled {
    int64_t tag;
    uint64_t label, last;
    uint64_t id;    /* of its registration on this rank */
    uint64_t input; /* hash of what main() made, if its owner knows it; 0: not known */
};

/* A message that had not been received. */
struct tic_labelled_message {
    int64_t tag, name; /* of the datum; of the channel, as in struct tic_late */
    int64_t peer;
    uint64_t number, label, last;
};

/* What has come back from the line that the run began from: its labels, as far as there are any. */
struct tic_source {
    int64_t tag;
    uint64_t label;
};

struct tic_table {
    char why[TIC_REASON]; /* "": there is all; else why the line is of as many ranks only */
    uint64_t end;         /* insertions of the line that the run began from; 0: from none such */
    struct tic_insertion *insertions;
    struct tic_labelled *values;
    struct tic_labelled_message *messages;
    struct tic_source *sources; /* sorted by tag, then label */
    uint64_t insertion_count, value_count, message_count, source_count;
};

/* 0 or -errno. */
int tic_table_write(const char *path, const struct tic_table *table);
int tic_table_read(const char *path, struct tic_table *table);
void tic_table_clear(struct tic_table *table);

/* Of all ranks: had they entered the same insertions, each of which one of them executes? Why not,
 * or NULL. */
const char *tic_tables_compare(const struct tic_table *tables, unsigned ranks);
/* Has each rank entered an insertion? */
bool tic_tables_have_begun(const struct tic_table *tables, unsigned ranks);
void tic_tables_clear(struct tic_table *tables, unsigned ranks);
/* Of a job line: is it of any number of ranks? The tables are the caller's then, if found is not
 * NULL; else why it is not. */
bool tic_tables_read(const char *directory, const struct tic_job_line *line,
                     struct tic_table **found, char why[TIC_REASON]);
