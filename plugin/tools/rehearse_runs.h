/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: what all of its runs share: environment, files, progress. */
#pragma once

#include <jansson.h>

#include "tools/rehearsal.h"

/* Says how far it is, on standard error. */
__attribute__((format(printf, 1, 2))) void tic_rehearse_tell(const char *progress, ...);
void tic_rehearse_tell_nothing(void);

/* A file, or a folder with all in it. */
void tic_rehearse_remove(const char *path);
/* Removes a file or folder of a run, or all of them, unless all are kept. */
void tic_rehearse_forget(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                         const char *kind);
void tic_rehearse_forget_run(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial);

/* The statistics of a run, or NULL; a count of them. */
json_t *tic_rehearse_load_stats(const struct tic_rehearsal *rehearsal,
                                const struct tic_trial *trial);
uint64_t tic_rehearse_stat(const json_t *stats, const char *name);
/* False with a finding when they cannot be read. */
bool tic_rehearse_read_digests(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                               struct tic_digests *digests);

/* Settings of a run. `store`: the name of its directory of recovery lines. */
void tic_rehearse_set_start(const struct tic_rehearsal *rehearsal, struct tic_trial *trial,
                            unsigned cpus);
void tic_rehearse_set_protection(const struct tic_rehearsal *rehearsal, struct tic_trial *trial,
                                 const char *store, unsigned cpus, bool periodic);
/* malloc() gives memory with other content, at other addresses. */
void tic_rehearse_perturb(struct tic_trial *trial, uint64_t seed, unsigned number);

/* False when this process is to end. */
bool tic_rehearse_run(struct tic_rehearsal *rehearsal, struct tic_trial *trial);
