/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For starpu-tic check and rehearse: files that the program writes (syscalls/writes.c), as they
 * were before a run and as they are after it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "tools/outputs.h"

struct tic_written_file {
    const char *path; /* in the notes, as `name`, which is shorter below the current directory */
    const char *name;
    char writers[128];    /* "main(), task scale" */
    bool in_order;        /* main() alone writes it: its lines come in one order */
    char kind;            /* as in the notes */
    long long place;      /* of what the file held before */
    const char *excluded; /* why it is not compared, or NULL */
    struct tic_output expected;
    bool exists; /* expected is there */
};

enum { TIC_WRITTEN_IGNORED = 16 };
struct tic_written {
    const char *ignored[TIC_WRITTEN_IGNORED]; /* patterns of paths or names */
    unsigned ignored_count;
    char *notes_path; /* NULL: nothing is known */
    struct tic_output notes;
    struct tic_written_file *files;
    unsigned count;
};

/* Reads the notes of a run that has ended, and what the files hold now, which is expected from now
 * on. A file that was not there before, and is not now, does not count. */
void tic_written_load(struct tic_written *written, const char *notes_path);
void tic_written_free(struct tic_written *written);
/* The files are as they were before that run. */
void tic_written_put_back(const struct tic_written *written);
/* A file that is not as expected, and what it holds; or NULL. */
struct tic_written_file *tic_written_find_other(const struct tic_written *written,
                                                struct tic_output *found);
/* The first file that is not compared, or NULL. */
const struct tic_written_file *tic_written_find_excluded(const struct tic_written *written);
/* [{name, writers, compared}] */
json_t *tic_written_list(const struct tic_written *written);
