/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a job line, job-line-N: a text with a part of each rank and the counts of all
 * channels at the cut. It is there, or not at all. And the late messages of a part. */
#pragma once

#include "mpi/channels.h"

enum { TIC_REASON = 128 };

/* What a rank says of its part, in its folder p<rank>. */
struct tic_job_part {
    char name[64]; /* of the recovery line */
    uint64_t size, hash;
    uint64_t late_size, late_hash; /* of the file late-<name>; 0: none */
    struct tic_channel_count *counts;
    unsigned long count;
    uint64_t ranks_size, ranks_hash; /* as of late messages, of ranks-<name>: table.h */
    char why[TIC_REASON];            /* in no file: why the rank needs the line's number of ranks */
};

struct tic_job_line {
    uint64_t number, in_transit;
    unsigned ranks;
    struct tic_job_part *parts;
    unsigned generation;  /* restarts on another number of ranks before */
    char why[TIC_REASON]; /* why a restart needs as many; "": it does not */
};

/* A part without counts as a text of a letter, and back. */
int tic_job_part_print(const struct tic_job_part *part, char *text, size_t size);
bool tic_job_part_scan(struct tic_job_part *part, const char *text);

/* written: called before the rename, or NULL. 0 or -errno. */
int tic_job_line_write(const char *directory, const struct tic_job_line *line,
                       void (*written)(void));
/* The same; -EBADMSG: it is damaged. */
int tic_job_line_read(const char *directory, uint64_t number, struct tic_job_line *line);
/* The first rank whose part, or late messages, are not those that the line names; -1: none. */
int tic_job_line_find_bad(const char *directory, const struct tic_job_line *line,
                          int (*hash)(const char *path, uint64_t *size, uint64_t *hash));
void tic_job_line_clear(struct tic_job_line *line);
/* 0: one that was not renamed. */
void tic_job_line_remove(const char *directory, uint64_t number);
/* Numbers of those that are there, the newest first, malloc'ed; NULL: no memory. */
uint64_t *tic_job_line_list(const char *directory, unsigned long *count);

/* Of a rank, in the directory of the job; path has PATH_MAX bytes. */
void tic_job_folder(const char *directory, unsigned generation, unsigned rank, char *path);
/* The largest that has a folder. */
unsigned tic_job_newest_generation(const char *directory);
/* A file beside a part: what is "late", or "ranks". */
void tic_job_beside(const char *directory, unsigned generation, unsigned rank, const char *what,
                    const char *part, char *path);
/* 0 or -errno. */
int tic_late_write(const char *path, const struct tic_late *late, unsigned long count);
int tic_late_read(const char *path, struct tic_late **late, unsigned long *count);
