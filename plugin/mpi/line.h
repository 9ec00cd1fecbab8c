/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a job line, job-line-N: a text with a part of each rank. It is there, or not at all.
 */
#ifndef TIC_MPI_LINE_H
#define TIC_MPI_LINE_H

#include "mpi/agree.h"

struct tic_job_line {
    uint64_t number;
    const char *token;
    unsigned ranks;
    const struct tic_agree_answer *parts; /* what ranks said of theirs: a text each */
    uint64_t in_transit;
};
/* 0 or -errno. */
int tic_job_line_write(const char *directory, const struct tic_job_line *line);
void tic_job_line_remove(const char *directory, uint64_t number);

#endif
