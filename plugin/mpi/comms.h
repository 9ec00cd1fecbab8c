/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Communicators by names that are the same on all ranks and in each run: the k-th one that is made
 * of another. Their ranks are told as those in the communicator of all. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of all ranks: its name is 0. */
void *tic_comms_world(void);
/* *rank: in this communicator; then in that of all. False: it, or that rank, has no name. */
bool tic_comms_find(void *comm, int *rank, uint64_t *name);
