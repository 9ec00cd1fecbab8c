/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The job: this rank's share in the agreement, and the thread that carries it. */
#pragma once

#include "base/ranks.h"

/* Before and after a barrier of all ranks, by main(). 0; -ENOENT: this run is not protected; other
 * -errno. */
int tic_job_open(void);
int tic_job_join(void);

/* As struct tic_ranks has them. */
bool tic_job_begin(bool wanted);
void tic_job_ready(void);
enum tic_ranks_step tic_job_step(void);
void tic_job_cut(void);
void tic_job_tell_cut(void);
bool tic_job_has_late(bool tells);
void tic_job_part(const char *name, uint64_t size, uint64_t hash);
void tic_job_end(const char *why);
void tic_job_remove(void);
