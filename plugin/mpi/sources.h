/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart on another number of ranks, and the runs that go on from it: which insertions were done
 * when it began, and where their results are. Immutable once main() runs, but for what is counted.
 */
#pragma once

#include "mpi/table.h"

/* Of the job line, by all of its parts; the tables are taken over. 0 or -errno. */
int tic_sources_open(const char *directory, const struct tic_job_line *line,
                     struct tic_table *tables);
/* The run goes on from a line of one that had begun so: nothing is brought back again. */
int tic_sources_continue(struct tic_table *table);

uint64_t tic_sources_end(void); /* insertions; 0: the run began from no such line */
bool tic_sources_is_done(uint64_t insertion);
/* False: it was another one. */
bool tic_sources_compare(uint64_t insertion, const struct tic_insertion *now);
/* What main() had made, where that is known; 0. */
uint64_t tic_sources_input(int64_t tag);
bool tic_sources_has(int64_t tag, uint64_t label);
/* The value comes back into the datum on this rank, when StarPU gives access. False: it is not
 * there. */
bool tic_sources_bring(void *data, int64_t tag, uint64_t label);
/* Values that are on their way. */
bool tic_sources_are_busy(void);
/* For lines of this run. False: no memory. */
bool tic_sources_describe(struct tic_table *table);
