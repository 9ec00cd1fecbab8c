/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Insertions of main() by numbers, and what the values of this rank are results of: labels
 * (table.h). So a line tells whether a restart may have another number of ranks, and brings values
 * back there.
 *
 * main() calls, the checkpoint thread takes tables; a mutex, under which that of channels is taken.
 */
#pragma once

#include "base/ranks.h"
#include "mpi/table.h"

/* Why lines are of as many ranks only; the first reason counts. Any thread. */
void tic_labels_refuse(const char *why);
/* main() gives data a tag. */
void tic_labels_register(void *data, int64_t tag);

struct tic_label_access {
    void *data;
    bool reads, writes, commutes;
};

/* main() begins an insertion. False: it is done, as the line tells that the run began from. */
bool tic_labels_enter(uint64_t what, const struct tic_label_access *accesses, unsigned count);
/* It has returned. */
void tic_labels_leave(const struct tic_label_access *accesses, unsigned count);
/* main() asks StarPU-MPI for data to be with another rank from now on. False: it is nowhere, and
 * whoever needs it brings it back there. */
bool tic_labels_move(void *data);
void tic_labels_moved(void *data);
/* A message is asked for, with its channel and number. */
void tic_labels_note_message(void *data, bool sends, int peer, int64_t name, uint64_t number);
/* It gives data another owner. */
void tic_labels_note_rank(void *data);
/* main() is to use data itself. As struct tic_ranks has it. */
void tic_labels_come(void *data, enum tic_ranks_use use);

/* Has main() still to come to insertions of the line that the run began from, or that and values to
 * come back? No line is taken then. Any thread. */
bool tic_labels_are_short(void);
bool tic_labels_are_ahead(void);

/* The part of a line. At the cut; is it to wait for an insertion; to a file, after the tasks of the
 * cut have ended, if there is anything to tell but why not: 1; 0; or -errno. */
void tic_labels_cut(void);
bool tic_labels_wait(void);
int tic_labels_write(const char *path, char why[TIC_REASON]);
