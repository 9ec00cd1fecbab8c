/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of all ranks in the directory of a job (doc/ranks.md), for subcommands. */
#pragma once

#include <jansson.h>

#include "mpi/line.h"

/* A job line, with what its parts say. */
struct tic_jobs_line {
    struct tic_job_line line;
    int status; /* 0: a restart may begin from it; -errno: this file is damaged, or: */
    int bad;    /* rank of a part that is; -1: none */
    double created;
    uint64_t tasks_done, tasks_submitted, handles, bytes; /* sums */
};

struct tic_jobs {
    struct tic_jobs_line *lines; /* the newest first */
    unsigned long count;
};

/* False: it is none of several ranks, or there is no memory. */
bool tic_jobs_read(const char *directory, struct tic_jobs *jobs);
void tic_jobs_clear(struct tic_jobs *jobs);
/* What a restart begins from, or NULL. */
const struct tic_jobs_line *tic_jobs_newest(const struct tic_jobs *jobs);
/* "good", or what is wrong. */
void tic_jobs_describe(const struct tic_jobs_line *job, char *text, size_t size);
json_t *tic_jobs_json(const struct tic_jobs *jobs);
/* All of them, a row each; frees them. An exit status: TIC_TOOL_FAILED where one is not good. */
int tic_jobs_tell(struct tic_jobs *jobs, const char *directory, bool as_json);
