/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The job line that a run begins from. Each rank looks at all files, which nobody changes before
 * all have: so all come to the same one. */
#pragma once

#include "base/ranks.h"
#include "mpi/channels.h"

struct tic_restart {
    uint64_t number;     /* of the line; 0: it begins from none */
    uint64_t newest;     /* number of a job line that is there; 0: none is */
    unsigned generation; /* of the lines of this run */
};

/* As struct tic_ranks has it. */
int tic_restart_choose(const char *directory, struct tic_ranks_choice *choice);
const struct tic_restart *tic_restart_found(void);
int tic_restart_log(bool logs);
/* Do all ranks log results, and has none of them withdrawn its own? */
bool tic_restart_all_log(void);
/* A late message of that line; NULL: it has none such. */
const struct tic_late *tic_restart_find_late(int peer, int64_t tag, uint64_t number);
