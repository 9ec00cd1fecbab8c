/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line with all rows that it refers to, copied into another directory, which is then a
 * store of its own. Calls no HDF5; one thread at a time for each mirror. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "store/store.h"

/* A row that the line refers to. */
struct tic_mirror_row {
    uint64_t segment, offset, bytes, checksum;
    struct tic_row row;
    struct tic_place place; /* without a descriptor */
};

struct tic_mirror_rows {
    struct tic_mirror_row *items; /* ascending segment and offset, each once */
    unsigned long count, capacity;
};

struct tic_mirror {
    const struct tic_h5_ops *h5; /* to inflate */
    char *path;
    int directory;                /* fd, or -1 */
    uint64_t line;                /* that it holds; 0: none, or not known */
    struct tic_mirror_rows known; /* rows that it holds */
};

/* What a copy is made with, and how far it is. */
struct tic_mirror_work {
    _Atomic bool stop;         /* it is given up at the next chance */
    _Atomic uint64_t progress; /* calls on files that came back */
    _Atomic uint64_t bytes;    /* of rows written */
};

/* A run keeps two copies, in turns; the path of one (malloc'ed), or NULL when out of memory. */
enum { TIC_COPIES = 2 };
char *tic_mirror_path(const char *directory, unsigned copy);

/* path is copied. 0 or -ENOMEM; nothing is opened yet. */
int tic_mirror_init(struct tic_mirror *mirror, const struct tic_h5_ops *h5, const char *path);
void tic_mirror_fini(struct tic_mirror *mirror);

/* The rows that a line refers to, whose tables of them are complete; its blocks included. 0 or
 * -ENOMEM. */
int tic_mirror_list(const struct tic_line *line, struct tic_mirror_rows *rows);

/* Makes the mirror hold this line and nothing else: what it held before is gone first. Only rows
 * that differ are written; all are verified before the line gets its name. Done, the rows' items
 * are the mirror's, and stay until it is updated again. 0; -ESTALE when the source is not what the
 * line says (any more); -ECANCELED; -EPERM when the directory is not to be trusted; other -errno.
 */
int tic_mirror_update(struct tic_mirror *mirror, int source, uint64_t number,
                      const struct tic_mirror_rows *rows, const struct tic_line *line,
                      struct tic_mirror_work *work);
/* Removes what is a store's from the directory, and the directory, if it is then empty. */
int tic_mirror_remove(struct tic_mirror *mirror, struct tic_mirror_work *work);
