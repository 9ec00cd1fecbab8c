/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forced checkpoints on disk: a record for each stolen task whose result was saved when it ended.
 * Records are rows of extents of their own, which every line lists, so that recovery finds them;
 * they name their values by segment and offset, because no line needs to know these yet. */
#ifndef TIC_STORE_FORCED_H
#define TIC_STORE_FORCED_H

#include "store/store.h"

enum { TIC_FORCED_OUTPUTS = 5, TIC_FORCED_ROWS = 4096 };

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
    uint64_t workers;   /* victim << 32 | thief */
    uint64_t time;      /* of the theft, nanoseconds since 1970 UTC */
    uint64_t count;     /* of outputs */
    struct tic_forced_output outputs[TIC_FORCED_OUTPUTS];
};

/* Formats an extent for records. Committing thread. 0 or -errno. */
int tic_forced_provide(struct tic_store *store);
/* Where an output is. 0 or -errno. */
int tic_forced_describe(struct tic_store *store, const struct tic_saved *saved,
                        struct tic_forced_output *output);
/* Writes a record into a free row, which stays busy until it is settled. 0; -EAGAIN no row is free;
 * other -errno. */
int tic_forced_write(struct tic_store *store, const struct tic_forced *forced, struct tic_row *row);

/* Called with every record that is whole. Returning true ends the walk. */
typedef bool (*tic_forced_visit)(void *arg, const struct tic_forced *forced);
/* Before the line is adopted. 0 or -errno. */
int tic_forced_walk(struct tic_store *store, const struct tic_line *line, tic_forced_visit visit,
                    void *arg);
/* Reads an output before the line is adopted: malloc'ed bytes, or NULL when it is not as it was. */
char *tic_forced_read(struct tic_store *store, const struct tic_forced_output *output);

#endif
