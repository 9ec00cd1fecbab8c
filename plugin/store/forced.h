/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks on disk: a record of the event log says that a task has finished, and
 * where what it wrote is, by segment and offset, because no line needs to know these yet. */
#pragma once

#include "store/eventlog.h"
#include "store/store.h"

enum { TIC_FORCED_OUTPUTS = 8, TIC_FORCED_WORDS = 8 + 5 * TIC_FORCED_OUTPUTS };

/* A value that the task wrote. */
struct tic_forced_output {
    uint64_t id; /* of the handle */
    uint64_t bytes;
    uint64_t checksum; /* XXH3-64 */
    uint64_t segment;
    uint64_t offset; /* in that file */
};

struct tic_forced {
    uint64_t sequence;  /* the task, of the main context */
    uint64_t signature; /* its entry of the rolling signature */
    uint64_t arguments; /* hash of its arguments, or 0 */
    uint64_t events;    /* logged events that main() had come to when it began, at most */
    uint64_t seen;      /* hash of these events */
    uint64_t workers;   /* victim + 1, or 0: not stolen << 32 | who executed it */
    uint64_t started;   /* nanoseconds since 1970 UTC */
    uint64_t count;     /* of outputs */
    struct tic_forced_output outputs[TIC_FORCED_OUTPUTS];
};

/* Where an output is. 0; -EBUSY it was held in memory; other -errno. */
int tic_forced_describe(struct tic_store *store, const struct tic_saved *saved,
                        struct tic_forced_output *output);
/* The words of its record, at most TIC_FORCED_WORDS; how many. */
size_t tic_forced_encode(const struct tic_forced *forced, uint64_t *words);
/* False: the record is none of a finished task whose outputs are there. */
bool tic_forced_decode(const struct tic_log_record *record, struct tic_forced *forced);
